import { CpuSet, tryParseCpuList } from '../cpuset';
import { chooseLeaveAlone } from '../annotations/leave-alone';
import { PAUSE_NAME, type Container, type Pod } from '../model/container';
import type { FoundPause } from '../model/events';
import type { Settings } from '../model/settings';
import type { Draft } from './draft';

/** Puts pause containers, which run already; `planMoves` moves them to the shared pool. */
export function addPauses(draft: Draft, pauses: readonly FoundPause[]): void {
  const { model } = draft;
  for (const pause of pauses) {
    const { sandboxId, cgroupsPath, pid, found } = pause;
    const pod = model.pods.get(sandboxId);
    if (!pod || pod.stopped || model.containers.has(sandboxId)) continue;
    const container: Container = {
      id: sandboxId,
      sandboxId,
      podUid: pod.uid,
      name: PAUSE_NAME,
      cgroupsPath,
      ...(pid !== undefined && { pid }),
      phase: 'running',
      resources: {},
      entitledCpus: 0,
      freshAssignment: false,
      ...placementOf(model.settings, pod, pause),
      ...(!found.isEmpty && { applied: { cpus: found, mems: CpuSet.empty } }),
    };
    draft.put({ kind: 'put-container', container });
  }
}

/** Drops the pause container of a sandbox that was stopped or removed. */
export function dropPause(draft: Draft, sandboxId: string): void {
  if (draft.model.allContainers.get(sandboxId)?.pause) draft.put({ kind: 'drop-container', id: sandboxId });
}

function placementOf(
  settings: Settings,
  pod: Pod,
  { cpus, staysBecause }: FoundPause,
): Pick<Container, 'placement' | 'because' | 'pause'> {
  const { leaves } = chooseLeaveAlone(settings, pod, PAUSE_NAME);
  const stays = staysBecause ?? (leaves?.part === 'all' ? leaves.because : undefined);
  if (stays !== undefined) return { placement: 'left-alone', because: stays, pause: { stays: true } };
  const listed = cpus === undefined ? undefined : tryParseCpuList(cpus);
  const configured = listed?.isEmpty === false ? listed : undefined;
  const placement = settings.cpuManagerPolicy === 'none' ? 'left-alone' : 'shared';
  const because = configured
    ? `the runtime's configuration gives pause containers CPUs ${configured.toString()}`
    : 'the pause container of its pod';
  return { placement, because, pause: configured ? { configured } : {} };
}
