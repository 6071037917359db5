# ns s3.tcl AGENT OVERHEAD_MS SEED: three files over a GEO dumbbell.
# Prints one line: completion time of each sender (first SYN to last ACK), then retransmissions, data packets and timeouts
# summed over senders, and drops at the bottleneck.
source [file join [file dirname [info script]] common.tcl]
foreach {agent overhead seed} $argv break
set given [lrange $argv 3 end]
set senders 3; set packets 1000; set buffer 96; set iw 1
foreach name {senders packets buffer iw} value $given { if {$value != ""} { set $name $value } }
common $seed $overhead $iw 1000
agents $agent
set gateway [$ns node]
set terminal [$ns node]
link $gateway $terminal 10Mb 250ms $buffer
set monitor [$ns monitor-queue $gateway $terminal ""]
set left $senders
Agent/TCP instproc done {} {
    global ns finished left
    set finished($self) [$ns now]
    incr left -1
    if {$left == 0} { report }
}
for {set i 0} {$i < $senders} {incr i} {
    set s [$ns node]
    set r [$ns node]
    link $s $gateway 10Mb 1ms 100000
    link $terminal $r 10Mb 1ms 100000
    set tcp($i) [new $tcp_class]
    set sink [new $sink_class]
    $ns attach-agent $s $tcp($i)
    $ns attach-agent $r $sink
    $ns connect $tcp($i) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at 0 "$ftp send [expr $packets * 1000]"
}
proc report {} {
    global tcp senders finished monitor
    set out {}
    set re 0; set data 0; set to 0
    for {set i 0} {$i < $senders} {incr i} {
        lappend out [expr {[info exists finished($tcp($i))] ? $finished($tcp($i)) : "nan"}]
        incr re [$tcp($i) set nrexmitpack_]
        incr data [$tcp($i) set ndatapack_]
        incr to [$tcp($i) set nrexmit_]
    }
    puts "$out $re $data $to [$monitor set pdrops_]"
    exit 0
}
$ns at 600 report
$ns run
