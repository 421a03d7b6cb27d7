"""The register of single records, and how few persons are too few."""

import numpy as np

from understudy.judging.register import K, enough, register


def test_nobody_to_list_is_an_empty_register_of_the_same_kind():
    full = register("m", np.array([1]), "a", error=np.zeros(1))
    empty = register("m", np.array([], np.int64), "a", error=np.zeros(0))
    assert full.schema == empty.schema
    assert full.rows() == [("m", 1, "a", None, 0.0)]


def test_the_worst_are_listed_and_numbers_go_with_them():
    made = register("m", np.array([7, 3, 5]), ["a", "b", "c"], "age", most=2, far=np.arange(3.0))
    assert made.rows() == [("m", 7, "a", "age", 0.0), ("m", 3, "b", "age", 1.0)]
    assert register("m", np.arange(1500), "a").height == 1000
    assert register("m", np.arange(1500), "a", most=None).height == 1500


def test_a_number_needs_five_persons_on_every_side():
    assert enough(K, K)
    assert not enough(K - 1, 100)
    assert not enough(100, K - 1)
