"""Selectors, which choose the policy: P04's roulette wheel, bandits, and Penstock's what-if runs."""

from penstock.qos.selectors.foresight import Foresight
from penstock.qos.selectors.roulette import Roulette
from penstock.qos.selectors.selector import Choice, Selector, Situation
from penstock.qos.selectors.selector_table import SELECTORS, selector_named

__all__ = ["SELECTORS", "Choice", "Foresight", "Roulette", "Selector", "Situation", "selector_named"]
