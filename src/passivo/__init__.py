"""Passivo: simulate physical systems so that no energy is ever created unnoticed."""
from passivo.model.system import System
from passivo.model.ports import effort, flow
from passivo.model.symbols import symbols
from passivo.method.one_stage import *
from passivo.method.runge_kutta import *
from passivo.method.closed_loop import *
from passivo.method.part import compile
