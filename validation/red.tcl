# What ns-2 has where bentpipe has red.toml: `ns red.tcl SEED WAIT`, prints utilisation, mean packets waiting, and the shares
# of arriving packets that were dropped.
ns-random [lindex $argv 0]
set ns [new Simulator]
remove-all-packet-headers
add-packet-header IP TCP
Agent/TCP set tcpTick_ 0.01
Agent/TCP set minrto_ 0.2
Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 2
Agent/TCP set packetSize_ 1000
foreach {key value} {
    bytes_ false queue_in_bytes_ false thresh_ 10 maxthresh_ 30 linterm_ 10 q_weight_ 0.002 gentle_ true
    mean_pktsize_ 1040 setbit_ false adaptive_ 0 cautious_ 0
} { Queue/RED set $key $value }
Queue/RED set wait_ [lindex $argv 1]

set a [$ns node]
set b [$ns node]
$ns simplex-link $a $b 10Mb 40ms RED
$ns simplex-link $b $a 10Mb 40ms DropTail
$ns queue-limit $a $b 200
$ns queue-limit $b $a 10000
set monitor [$ns monitor-queue $a $b ""]
set random [new RandomVariable/Uniform]
for {set i 0} {$i < 10} {incr i} {
    set tcp [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $a $tcp
    $ns attach-agent $b $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [$random value] "$ftp start"
}
proc done {} {
    global monitor
    set queue [$monitor get-pkts-integrator]
    $queue newpoint 300 [$monitor set pkts_]
    set arrived [$monitor set parrivals_]
    puts "[expr [$monitor set bdepartures_] * 8 / 10e6 / 300] [expr [$queue set sum_] / 300]\
        [expr 1.0 * [$monitor set pdrops_] / $arrived]"
    exit 0
}
$ns at 300 done
$ns run
