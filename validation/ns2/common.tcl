# What both cases share: ticks of 10 ms, a timer of at least 0.2 s, no delayed ACKs, no limit of the window (so that the
# first threshold has none either). ns-2 has limited transmit on.
proc common {seed overhead_ms iw payload} {
    global ns
    ns-random $seed
    set ns [new Simulator]
    remove-all-packet-headers
    add-packet-header IP TCP
    Agent/TCP set tcpTick_ 0.01
    Agent/TCP set minrto_ 0.2
    Agent/TCP set window_ 1000000
    Agent/TCP set windowInit_ $iw
    Agent/TCP set packetSize_ $payload
    Agent/TCP set overhead_ [expr $overhead_ms / 1000.0]
}
proc link {a b rate delay limit} {
    global ns
    $ns duplex-link $a $b $rate $delay DropTail
    $ns queue-limit $a $b $limit
    $ns queue-limit $b $a $limit
}
# AGENT is Tahoe, Reno, Newreno or Sack1.
proc agents {agent} {
    global tcp_class sink_class
    set tcp_class [expr {$agent == "Tahoe" ? "Agent/TCP" : "Agent/TCP/$agent"}]
    set sink_class [expr {$agent == "Sack1" ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]
}
