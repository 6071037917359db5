# The same work for ns-2: `ns case.tcl s1|s2|s1x100`. Tracing off, as in the bench.
set case [lindex $argv 0]
set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP TCP
Agent/TCP set tcpTick_ 0.01
Agent/TCP set minrto_ 0.2
Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 2

proc link {a b rate delay limit} {
    global ns
    $ns duplex-link $a $b $rate $delay DropTail
    $ns queue-limit $a $b $limit
    $ns queue-limit $b $a $limit
}

proc flow {from to size start window} {
    global ns
    set tcp [new Agent/TCP/Newreno]
    set sink [new Agent/TCPSink]
    $tcp set packetSize_ $size
    $tcp set window_ $window
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $start "$ftp start"
}

if {$case == "s2"} {
    foreach node {a gateway geo terminal b} { set $node [$ns node] }
    link $a $gateway 100Mb 2.5ms 6375
    link $gateway $geo 100Mb 125ms 6375
    link $geo $terminal 100Mb 125ms 6375
    link $terminal $b 100Mb 2.5ms 6375
    flow $a $b 1000 0 6375
    set end 50
} else {
    foreach node {sat1 sat2 sat3} { set $node [$ns node] }
    set flows [expr {$case == "s1x100" ? 100 : 10}]
    set rate [expr {$case == "s1x100" ? "1Gb" : "10Mb"}]
    set limit [expr {$case == "s1x100" ? 1880 : 188}]
    set end [expr {$case == "s1x100" ? 60 : 120}]
    link $sat1 $sat2 $rate 20ms $limit
    link $sat2 $sat3 $rate 20ms $limit
    set random [new RandomVariable/Uniform]
    for {set i 0} {$i < $flows} {incr i} {
        set s [$ns node]
        set r [$ns node]
        link $s $sat1 $rate 20ms $limit
        link $sat3 $r $rate 20ms $limit
        flow $s $r 1024 [$random value] 1000000
    }
}
$ns at $end "exit 0"
$ns run
