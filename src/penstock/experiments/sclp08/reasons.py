"""Why claims do not hold here: findings by figure and claim.

Found with the trace BC-pAug89, 20,000 packets, seeds 1 and 2; a quick run may differ.
"""

_TURNS = (
    "Round robin serves the cheapest queries no sooner than the most expensive, so it is as far behind as FCFS. "
    "Four variants were tried, an operator or a whole query per turn, one tuple or all that wait: HNR was 96 to "
    "99 % below each. The paper does not say how long a turn lasts."
)
_WIDER = (
    "The gap is wider than printed on every stream that was tried: Poisson arrivals, DEC-PKT and this trace "
    "agree within a few points (HNR 68 to 71 % below SRPT, FCFS 9.5 to 10 times HR). So it is not the trace; "
    "what else the paper's testbed did differently near a load of 1 cannot be told from it."
)
_SAME = (
    "With one cost for all operators every query has the same ideal time T, so that HNR = S ÷ (C·T) orders "
    "queries as HR = S ÷ C does: here the two give the same results to the last digit. The paper prints two "
    "different ones."
)
_ORACLE = (
    "The gain of knowing the future falls faster with selectivity than printed: 71, 12 and 3 % at 0.1, 0.5 "
    "and 1.0. It depends on how many tuples wait, and so on the load, which the paper does not print."
)
_JOINS = (
    "The paper prints neither the rates of the two streams nor how long it simulated; with one tuple per second "
    "each and windows of 1 to 10 s, FCFS is as far behind as printed, RR twice as far (its turns: see Figure "
    "6)."
)
_CHARGED = (
    "A decision among n candidates costs 2n − 1 times the cheapest operator; by these rules the "
    "overhead of 12 clusters weighs more than printed, and 6 clusters are best (24 % above the ideal). The "
    "printed 5 % would need decisions that cost less, or queues that are not there for most clusters."
)
_MANY = (
    "With as many clusters as priorities every query is a candidate again, and each decision costs up to a "
    "thousand operators: the load is far above 1. Uniform clusters are best at 48 here, 6 times the ideal. "
    "That very many would be within 10 % can only be if comparing them costs nothing."
)
_NAIVE = (
    "The naive search makes the load exceed 1 by orders of magnitude, and then what is measured depends on "
    "how long the run is: with 5,000 packets it is 460,000 %, and more with more."
)
_SUM = (
    "Sum serves all ten queries of a group as one, expensive and unselective ones too, and so loses more than "
    "printed: where the costs of a group differ by up to 16 times, that is its weakness, and PDT's point."
)
_MAX = (
    "The select is a small part of the work here: its cost is of one class, drawn for the group, and each "
    "query adds a join and a project. So Max errs little: it ranks the group by its best query, which is "
    "mostly what PDT takes."
)
_STARVED = (
    "BRT at deviations of 10 to 25, and BSD at 10: where an estimate falls to nearly 0, its query is not "
    "served, no window of it ends, and its tuples wait until the data has drifted on: they then have very "
    "long responses, which an ℓ2 norm counts. HR and HNR, judged by averages, gain at every deviation, as "
    "printed."
)
_WINDOW = (
    "The curve is flat: from 10 to 150 tuples HR's ratio is 0.06 and HNR's 0.09 to 0.12, and which is best is "
    "chance. Long windows are worse, as printed."
)
_PEAKS = (
    "HR lets the least productive queries wait until a burst is over. Their results then leave together and "
    "old, into the very intervals where the averages peak."
)

REASONS: dict[tuple[int, str], str] = {
    (6, "avg slowdown, HNR below RR at 0.7"): _TURNS,
    (6, "avg slowdown, HNR below RR at 0.97"): _TURNS,
    (6, "avg slowdown, HNR below SRPT at 0.97"): _WIDER,
    (7, "avg response, FCFS ÷ HR at 0.97"): _WIDER,
    (8, "max response, FCFS below HR at 0.97"): _WIDER,
    (9, "max slowdown, LSF below HNR at 0.97"): _WIDER,
    (12, "ℓ2 response, BRT below HR, up to"): _WIDER,
    (14, "avg response, HR within 5 % of the best, of peaks"): _PEAKS,
    (15, "avg slowdown, HNR within 5 % of the best, of peaks"): _PEAKS,
    (18, "ℓ2 slowdown, BSD below HR, most 0.5"): _SAME,
    (18, "ℓ2 slowdown, BSD below HNR, most 0.5"): _SAME,
    (18, "ℓ2 slowdown, BSD below HR, most 1.0"): _SAME,
    (18, "ℓ2 slowdown, BSD below HNR, most 1.0"): _SAME,
    (19, "oracle below its policy at most 0.1, up to"): _ORACLE,
    (19, "oracle below its policy at most 1.0"): _ORACLE,
    (20, "ℓ2 slowdown, BSD below HNR, up to"): _JOINS,
    (20, "ℓ2 slowdown, RR ÷ BSD at 0.9"): _JOINS,
    (20, "ℓ2 slowdown, FCFS ÷ BSD at 0.9"): _JOINS,
    (22, "avg slowdown, Chain ÷ HNR at 0.97"): _WIDER,
    (22, "ℓ2 slowdown, Chain ÷ BSD at 0.97"): _WIDER,
    (23, "ℓ2 slowdown, 12 log clusters above ideal"): _CHARGED,
    (23, "ℓ2 slowdown, very many uniform above ideal"): _MANY,
    (24, "ℓ2 slowdown, naive above ideal"): _NAIVE,
    (25, "avg response, PDT below Sum, up to"): _SUM,
    (26, "avg slowdown, PDT below Sum, up to"): _SUM,
    (27, "ℓ2 slowdown, PDT below Sum, up to"): _SUM,
    (25, "avg response, PDT below Max, up to"): _MAX,
    (26, "avg slowdown, PDT below Max, up to"): _MAX,
    (27, "ℓ2 slowdown, PDT below Max, up to"): _MAX,
    (28, "adaptive ÷ static, the most"): _STARVED,
    (29, "best window"): _WINDOW,
}
