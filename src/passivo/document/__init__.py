"""Files of plain data: YAML and XML with lines, and the checks that name the line of what is wrong."""
