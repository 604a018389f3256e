"""What runs a loop over threads: LLVM functions that every kernel with such a loop contains.

`tp.region` calls the loop's function for all turns at once, or for blocks of them, on several
threads if there is enough to do; it returns how many blocks there were, or -1 if one failed.
"""

from __future__ import annotations

from tapeless.emit.rare import ARENAS, ARGS, END, PARALLEL, SITE, THREAD_NUM, THREADS
from tapeless.emit.target import HOST_PARALLEL as BLOCKS
from tapeless.loop.syntax import LEAST_WORK

RECORD = 9  # a failure: the site and eight arguments
LINE = 8  # a counter that one thread mostly changes has a cache line of its own

# A region, in 8-byte slots. `nexts`: the next block of each range.
NAMES = "fn data start turns count ranges failed partials stride main failures".split()
MAIN, FAILURES = NAMES.index("main"), NAMES.index("failures")
NEXTS = -(-(FAILURES + BLOCKS * RECORD) // LINE) * LINE
SLOTS = NEXTS + BLOCKS * LINE

_SLOTS = "\n".join(
    f"  %{name} = getelementptr inbounds i64, ptr %region, i64 {k}"
    for name, k in (*zip(NAMES, range(len(NAMES)), strict=True), ("nexts", NEXTS))
)
WORK = "tp.work"
# Each thread begins with a range of its own: in a loop over time it finds there what it left in its
# cache. It takes half of what is left, so that the rest can be taken over by who is done earlier.
WORK_TEXT = f"""define internal void @{WORK}(ptr %region, ptr %ctx, i64 %home) nounwind {{
entry:
{_SLOTS}
  %function = load ptr, ptr %fn, align 8
  %captured = load ptr, ptr %data, align 8
  %begin = load i64, ptr %start, align 8
  %n = load i64, ptr %turns, align 8
  %blocks = load i64, ptr %count, align 8
  %parts = load i64, ptr %ranges, align 8
  %room = load ptr, ptr %partials, align 8
  %step = load i64, ptr %stride, align 8
  %single = icmp ne i64 %step, 0
  %endslot = getelementptr inbounds i64, ptr %ctx, i64 {END}
  %top = load i64, ptr %ctx, align 8
  %end = load i64, ptr %endslot, align 8
  br label %range
range:
  %k = phi i64 [ 0, %entry ], [ %k1, %leave ]
  %r0 = add i64 %home, %k
  %r = urem i64 %r0, %parts
  %r1 = add i64 %r, 1
  %b1 = mul i64 %blocks, %r1
  %own_end = udiv i64 %b1, %parts
  %line = mul i64 %r, {LINE}
  %counter = getelementptr inbounds i64, ptr %nexts, i64 %line
  br label %look
look:
  %c = load atomic i64, ptr %counter monotonic, align 8
  %stopped = load atomic i64, ptr %failed monotonic, align 8
  %limit = call i64 @llvm.umin.i64(i64 %own_end, i64 %stopped)
  %go = icmp ult i64 %c, %limit
  br i1 %go, label %take, label %leave
take:
  %left = sub i64 %limit, %c
  %more = add i64 %left, 1
  %half = lshr i64 %more, 1
  %many = select i1 %single, i64 1, i64 %half
  %c1 = add i64 %c, %many
  %pair = cmpxchg ptr %counter, i64 %c, i64 %c1 monotonic monotonic
  %taken = extractvalue {{i64, i1}} %pair, 1
  br i1 %taken, label %work, label %look
work:
  %m0 = mul i64 %n, %c
  %m1 = mul i64 %n, %c1
  %d0 = udiv i64 %m0, %blocks
  %d1 = udiv i64 %m1, %blocks
  %from = add i64 %begin, %d0
  %to = add i64 %begin, %d1
  %skip = mul i64 %c, %step
  %own = getelementptr inbounds i64, ptr %room, i64 %skip
  %status = call i32 %function(ptr %ctx, ptr %captured, i64 %from, i64 %to, ptr %own)
  store i64 %top, ptr %ctx, align 8
  store i64 %end, ptr %endslot, align 8
  %bad = icmp ne i32 %status, 0
  br i1 %bad, label %record, label %look, !prof !0
record:
  %offset = mul i64 %c, {RECORD}
  %place = getelementptr inbounds i64, ptr %failures, i64 %offset
  %site = getelementptr inbounds i64, ptr %ctx, i64 {SITE}
  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %site, i64 {8 * RECORD}, i1 false)
  store i64 0, ptr %site, align 8
  %before = atomicrmw umin ptr %failed, i64 %c monotonic
  br label %look
leave:
  %k1 = add i64 %k, 1
  %on = icmp ult i64 %k1, %parts
  br i1 %on, label %range, label %done
done:
  ret void
}}"""
ENTER = "tp.enter"
ENTER_TEXT = f"""define internal void @{ENTER}(ptr %region) nounwind {{
  %where = getelementptr inbounds i64, ptr %region, i64 {MAIN}
  %main = load ptr, ptr %where, align 8
  %numslot = getelementptr inbounds i64, ptr %main, i64 {THREAD_NUM}
  %num = load ptr, ptr %numslot, align 8
  %k = call i32 %num()
  %wide = zext i32 %k to i64
  %arenaslot = getelementptr inbounds i64, ptr %main, i64 {ARENAS}
  %arenas = load ptr, ptr %arenaslot, align 8
  %ctxslot = getelementptr inbounds ptr, ptr %arenas, i64 %wide
  %ctx = load ptr, ptr %ctxslot, align 8
  call void @{WORK}(ptr %region, ptr %ctx, i64 %wide)
  ret void
}}"""
REGION = "tp.region"
REGION_HEAD = (
    f"define internal i64 @{REGION}(ptr %ctx, ptr %body, ptr %names, i64 %begin, i64 %n, "
    "i64 %work, ptr %room, i64 %step) noinline nounwind"
)
REGION_TEXT = f"""{REGION_HEAD} {{
entry:
  %region = alloca [{SLOTS} x i64], align 64
{_SLOTS}
  %endslot = getelementptr inbounds i64, ptr %ctx, i64 {END}
  %threadslot = getelementptr inbounds i64, ptr %ctx, i64 {THREADS}
  %parallelslot = getelementptr inbounds i64, ptr %ctx, i64 {PARALLEL}
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %choose, label %nothing
choose:
  %allowed = load i64, ptr %threadslot, align 8
  %launch = load ptr, ptr %parallelslot, align 8
  %threads = call i64 @llvm.umin.i64(i64 %allowed, i64 %n)
  %team = icmp ugt i64 %threads, 1
  %able = icmp ne ptr %launch, null
  %much = icmp sge i64 %work, {LEAST_WORK}
  %both = and i1 %team, %able
  %several = and i1 %both, %much
  %plain = icmp eq i64 %step, 0
  %split = select i1 %plain, i1 %several, i1 %much
  br i1 %split, label %blocks, label %whole
whole:
  %top = load i64, ptr %ctx, align 8
  %end = load i64, ptr %endslot, align 8
  %last = add i64 %begin, %n
  %status = call i32 %body(ptr %ctx, ptr %names, i64 %begin, i64 %last, ptr %room)
  store i64 %top, ptr %ctx, align 8
  store i64 %end, ptr %endslot, align 8
  %bad = icmp ne i32 %status, 0
  %one = select i1 %bad, i64 -1, i64 1
  ret i64 %one
blocks:
  %many = call i64 @llvm.umin.i64(i64 %n, i64 {BLOCKS})
  store ptr %body, ptr %fn, align 8
  store ptr %names, ptr %data, align 8
  store i64 %begin, ptr %start, align 8
  store i64 %n, ptr %turns, align 8
  store i64 %many, ptr %count, align 8
  store i64 -1, ptr %failed, align 8
  store ptr %room, ptr %partials, align 8
  store i64 %step, ptr %stride, align 8
  store ptr %ctx, ptr %main, align 8
  %team_or_one = select i1 %several, i64 %threads, i64 1
  %parts = call i64 @llvm.umin.i64(i64 %team_or_one, i64 %many)
  store i64 %parts, ptr %ranges, align 8
  br label %set
set:
  %r = phi i64 [ 0, %blocks ], [ %r1, %set ]
  %b0 = mul i64 %many, %r
  %first_of = udiv i64 %b0, %parts
  %line = mul i64 %r, {LINE}
  %counter = getelementptr inbounds i64, ptr %nexts, i64 %line
  store i64 %first_of, ptr %counter, align 8
  %r1 = add i64 %r, 1
  %set_more = icmp ult i64 %r1, %parts
  br i1 %set_more, label %set, label %ready
ready:
  br i1 %several, label %parallel, label %serial
parallel:
  %number = trunc i64 %threads to i32
  call void %launch(ptr %ctx, ptr @{ENTER}, ptr %region, i32 %number)
  br label %joined
serial:
  call void @{WORK}(ptr %region, ptr %ctx, i64 0)
  br label %joined
joined:
  %first = load i64, ptr %failed, align 8
  %fine = icmp eq i64 %first, -1
  br i1 %fine, label %well, label %raise
well:
  ret i64 %many
raise:
  %offset = mul i64 %first, {RECORD}
  %record = getelementptr inbounds i64, ptr %failures, i64 %offset
  %site = getelementptr inbounds i64, ptr %ctx, i64 {SITE}
  call void @llvm.memcpy.p0.p0.i64(ptr %site, ptr %record, i64 {8 * RECORD}, i1 false)
  ret i64 -1
nothing:
  ret i64 0
}}"""
TEXTS = {WORK: WORK_TEXT, ENTER: ENTER_TEXT, REGION: REGION_TEXT}
assert SITE + 1 == ARGS  # a record is copied in one piece
