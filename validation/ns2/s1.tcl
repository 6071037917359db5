# ns s1.tcl AGENT OVERHEAD_MS SEED QUEUE: ten senders over three satellites.
# Prints one line: utilisation by payload goodput, Jain's index, retransmissions, timeouts, drops from sat1 to sat2.
source [file join [file dirname [info script]] common.tcl]
foreach {agent overhead seed queue} $argv break
common $seed $overhead 2 1024
agents $agent
foreach node {sat1 sat2 sat3} { set $node [$ns node] }
link $sat1 $sat2 10Mb 20ms $queue
link $sat2 $sat3 10Mb 20ms $queue
set monitor [$ns monitor-queue $sat1 $sat2 ""]
set random [new RandomVariable/Uniform]
for {set i 0} {$i < 10} {incr i} {
    set s [$ns node]
    set r [$ns node]
    link $s $sat1 10Mb 20ms $queue
    link $sat3 $r 10Mb 20ms $queue
    set tcp($i) [new $tcp_class]
    set sink($i) [new $sink_class]
    $ns attach-agent $s $tcp($i)
    $ns attach-agent $r $sink($i)
    $ns connect $tcp($i) $sink($i)
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [$random value] "$ftp start"
}
proc report {} {
    global tcp sink monitor
    set sum 0.0; set squares 0.0; set re 0; set to 0
    for {set i 0} {$i < 10} {incr i} {
        # in-order bytes at the sink: a SYN of 40 B and packets of 1064 B of which 1024 are payload
        set x [expr ([$sink($i) set bytes_] - 40) / 1064.0 * 1024]
        set sum [expr $sum + $x]
        set squares [expr $squares + $x * $x]
        incr re [$tcp($i) set nrexmitpack_]
        incr to [$tcp($i) set nrexmit_]
    }
    puts "[expr $sum * 8 / 120 / 10e6] [expr $sum * $sum / 10 / $squares] $re $to [$monitor set pdrops_]"
    exit 0
}
$ns at 120 report
$ns run
