# ns dumbbell.tcl KEY VALUE ...: greedy flows through one bottleneck, and what else the keys ask for.
# Prints one line: goodput of each flow in kbit/s, retransmissions, timeouts, datagrams that arrived per second.
# With `files` it prints the completion time of each file instead, in seconds.
source [file join [file dirname [info script]] common.tcl]
array set o {
    agent Newreno seed 1 duration 200 flows 3 opposite 0 payload 1000 rate 2Mb back_rate "" delay 50ms limit 20
    back_limit "" access 10Mb access_delay 2ms overhead_ms 0.1 delayed_ack 0 queue DropTail ecn 0 bytes 0
    loss 0 ack_loss 0 listed "" down "" datagrams "" files 0 window 1000000
}
array set o $argv
foreach {key value} {back_rate rate back_limit limit} { if {$o($key) eq ""} { set o($key) $o($value) } }
common $o(seed) $o(overhead_ms) 2 [lindex $o(payload) 0]
Agent/TCP set window_ $o(window)
foreach header {Flags RTP} { add-packet-header $header }
agents $o(agent)
Agent/TCP set ecn_ $o(ecn)
if {$o(delayed_ack)} {
    append sink_class /DelAck
    $sink_class set interval_ 0.1
}
Queue/DropTail set queue_in_bytes_ $o(bytes)
Queue/DropTail set mean_pktsize_ 1000
# A mark instead of a drop at any mean length, so that both do the same.
foreach {key value} {
    bytes_ false queue_in_bytes_ false thresh_ 5 maxthresh_ 15 linterm_ 10 q_weight_ 0.002 gentle_ true wait_ false
    mean_pktsize_ 1040 adaptive_ 0 cautious_ 0 use_mark_p_ false
} { Queue/RED set $key $value }
Queue/RED set setbit_ [expr {$o(ecn) ? "true" : "false"}]

# The streams of one seed do not overlap; each use has its own.
proc uniform {low high} {
    set v [new RandomVariable/Uniform]
    $v set min_ $low
    $v set max_ $high
    $v use-rng [new RNG]
    return $v
}
proc losses {share} {
    set model [new ErrorModel]
    $model unit pkt
    $model set rate_ $share
    $model ranvar [uniform 0 1]
    $model drop-target [new Agent/Null]
    return $model
}
# Exactly these packets, the SYN being number 0.
proc drops {listed} {
    set model [new ErrorModel/List]
    $model unit pkt
    $model droplist $listed
    $model drop-target [new Agent/Null]
    return $model
}

set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right $o(rate) $o(delay) $o(queue)
$ns simplex-link $right $left $o(back_rate) $o(delay) DropTail
$ns queue-limit $left $right $o(limit)
$ns queue-limit $right $left $o(back_limit)
if {$o(loss) > 0} { $ns link-lossmodel [losses $o(loss)] $left $right }
if {$o(ack_loss) > 0} { $ns link-lossmodel [losses $o(ack_loss)] $right $left }
if {$o(listed) ne ""} { $ns link-lossmodel [drops [split $o(listed) ,]] $left $right }
# A link that is down loses what it carries. (A `rtmodel` would also lose what arrives, but not what waits.)
if {$o(down) ne ""} {
    foreach {from to} [list $left $right $right $left] {
        set outage [losses 0]
        $ns link-lossmodel $outage $from $to
        foreach {begin end} $o(down) {
            $ns at $begin "$outage set rate_ 1"
            $ns at $end "$outage set rate_ 0"
        }
    }
}

# Two hosts on either side.
proc hosts {rate delay} {
    global ns left right
    set near [$ns node]
    set far [$ns node]
    link $near $left $rate $delay 10000
    link $right $far $rate 1ms 10000
    return [list $near $far]
}
# A connection between two hosts.
proc connection {from to payload} {
    global ns tcp_class sink_class
    set tcp [new $tcp_class]
    set sink [new $sink_class]
    $tcp set packetSize_ $payload
    $sink set bytes_ 0
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    return [list $tcp $sink $ftp]
}

if {$o(files)} {
    # Files of 20 packets at exponential distances over one pair of hosts.
    Agent/TCP instproc done {} { puts [expr [[Simulator instance] now] - $::begun($self)] }
    set distance [new RandomVariable/Exponential]
    $distance set avg_ 0.045
    $distance use-rng [new RNG]
    foreach {near far} [hosts 100Mb 1ms] break
    for {set at [$distance value]} {$at < 100} {set at [expr $at + [$distance value]]} {
        foreach {tcp sink ftp} [connection $near $far 1000] break
        set begun($tcp) $at
        $ns at $at "$ftp send 20000"
    }
    $ns at $o(duration) "exit 0"
    $ns run
}

set start [uniform 0 1]
set all [expr $o(flows) + $o(opposite)]
for {set i 0} {$i < $all} {incr i} {
    set pair [hosts $o(access) [lindex $o(access_delay) [expr $i % [llength $o(access_delay)]]]]
    if {$i >= $o(flows)} { set pair [list [lindex $pair 1] [lindex $pair 0]] }
    set size [lindex $o(payload) [expr $i % [llength $o(payload)]]]
    foreach {agent receiver ftp} [connection [lindex $pair 0] [lindex $pair 1] $size] break
    array set tcp [list $i $agent]
    array set sink [list $i $receiver]
    $ns at [$start value] "$ftp start"
}
# Datagrams with half of the bottleneck's rate; on-off, or evenly.
if {$o(datagrams) ne ""} {
    foreach {near far} [hosts 100Mb 1ms] break
    set udp [new Agent/UDP]
    $udp set packetSize_ 2000
    set monitor [new Agent/LossMonitor]
    $ns attach-agent $near $udp
    $ns attach-agent $far $monitor
    $ns connect $udp $monitor
    if {$o(datagrams) eq "on-off"} {
        set source [new Application/Traffic/Exponential]
        $source set rate_ 2056kb
        $source set burst_time_ 0.5
        $source set idle_time_ 0.5
    } else {
        set source [new Application/Traffic/CBR]
        $source set rate_ 1028kb
        $source set random_ 0
    }
    $source set packetSize_ 1028
    $source attach-agent $udp
    $ns at [$start value] "$source start"
}
proc report {} {
    global o all tcp sink monitor
    set goodputs {}
    set re 0
    set to 0
    for {set i 0} {$i < $all} {incr i} {
        set size [$tcp($i) set packetSize_]
        # Bytes in order at the sink: a SYN of 40 B, and packets with a header of 40 B.
        set payload [expr ([$sink($i) set bytes_] - 40) * $size / ($size + 40.0)]
        lappend goodputs [format %.3f [expr $payload * 8 / 1000 / $o(duration)]]
        incr re [$tcp($i) set nrexmitpack_]
        incr to [$tcp($i) set nrexmit_]
    }
    set datagrams [expr {[info exists monitor] ? [$monitor set npkts_] / double($o(duration)) : 0}]
    puts "$goodputs $re $to $datagrams"
    exit 0
}
$ns at $o(duration) report
$ns run
