"""qlog files, checked as they are read."""

import json


def read(place):
    """Return the events of a file. They are a sequence of JSON texts, and their times do not fall."""
    empty, *records = place.read_text().split("\x1e")
    assert empty == ""
    head, *events = (json.loads(record) for record in records)
    assert (head["qlog_version"], head["qlog_format"]) == ("0.3", "JSON-SEQ")
    times = [event["time"] for event in events]
    assert times == sorted(times)
    return events


def packets(events, name):
    """Return number and bytes of each packet of the application in events of this name."""
    found = [event["data"] for event in events if event["name"] == f"transport:{name}"]
    return [
        (data["header"]["packet_number"], data["raw"]["length"])
        for data in found
        if data["header"]["packet_type"] == "1RTT"
    ]
