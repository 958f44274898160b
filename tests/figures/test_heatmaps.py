"""The figure of compositions."""

import ldru
from ldru.figures.analysis import heatmaps_figure


def test_classes_have_the_numbers_of_the_monoid():
    found = ldru.heatmaps("dyck_2", {"short": [4, 6], "long": [10]}, compositions=200)
    assert len(found.classes) < found.monoid.size  # words of even length have some classes alone
    figure = heatmaps_figure(found)
    first, second = figure.axes[:2]
    for axis in (first.xaxis, first.yaxis, second.xaxis):  # panels share the numbers at the left
        places = [round(place) for place in axis.get_ticklocs()]
        names = [int(text.get_text()) for text in axis.get_ticklabels()]
        assert names == found.classes[places].tolist()
        assert (places[0], places[-1]) == (0, len(found.classes) - 1)
