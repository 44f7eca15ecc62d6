"""Worlds: rigid bodies, springs, joints, stepped so that they create no energy."""
