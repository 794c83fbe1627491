#!/bin/sh
# runc for a CRI-O without CAP_SYS_RESOURCE, which lowering oom_score_adj needs. containerd has the setting restrict_oom_score_adj
# for that; CRI-O has none. Containers get the value of this process instead of a negative one.
own=$(cat /proc/self/oom_score_adj)
for word; do
  [ "$before" != --bundle ] || sed -i "s/\"oomScoreAdj\": *-[0-9]*/\"oomScoreAdj\": $own/" "$word/config.json"
  before=$word
done
exec runc "$@"
