import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseCpuList } from '../../../src/core/cpuset';
import { cpusetDirOf, poll, readMask, readStatus, type ShownStatus } from '../../e2e/rig';
import { readPids } from '../../e2e/rig/cgroup-files';
import type { ClusterNode } from './cluster-node';
import type { ClusterPod } from './cluster-pod';
import { exclusiveCpu } from './cpus';

/** Lines of cpusetd's log that an error shows. */
const LOG_LINES = 60;

interface Options {
  /** The container of the pod that owns the CPU. */
  readonly container?: string;
  /** True when the CPU has no owner, but is held for a pod without containers. */
  readonly isHeld?: boolean;
  /** The only alarm that there is. Default: there is none. */
  readonly alarm?: string;
}

/**
 * Waits until this container alone has the exclusive CPU, or, without one, until nobody has it, and all say so: the
 * kernel of each process, cpusetd's status (all verdicts are `kept`), the pod, the Node and its NodeResourceTopology.
 *
 * @throws after a deadline, with the contradictions that were seen last
 */
export async function expectOwner(
  node: ClusterNode,
  owner: ClusterPod | undefined,
  options: Options = {},
): Promise<ShownStatus> {
  let last: readonly string[] = [];
  const agreed = async (): Promise<ShownStatus | undefined> => {
    try {
      const { status, contradictions } = await look(node, owner, options);
      last = contradictions;
      return last.length === 0 ? status : undefined;
    } catch (error) {
      last = [String(error)]; // a part is not back, or a cgroup has just gone
      return undefined;
    }
  };
  return poll('one owner of the exclusive CPU', agreed, undefined, 50).catch((error: unknown) => {
    const log = node.daemon.log.lines.slice(-LOG_LINES).map((line) => JSON.stringify(line));
    throw new Error([String(error), ...last, 'the log of cpusetd at the end:', ...log].join('\n'), { cause: error });
  });
}

async function look(
  node: ClusterNode,
  owner: ClusterPod | undefined,
  { container = 'main', isHeld = false, alarm }: Options,
): Promise<{ status: ShownStatus; contradictions: string[] }> {
  const contradictions: string[] = [];
  const want = (what: string, isSo: boolean, found: unknown): void => {
    if (!isSo) contradictions.push(`${what}; found: ${JSON.stringify(found)}`);
  };
  const wanted = owner === undefined ? '' : exclusiveCpu;

  const id = (await owner?.container(container))?.containerID?.replace(/^.*:\/\//, '');
  const status = await readStatus(node.daemon);
  for (const shown of status.containers)
    want(`${shown.container} has the verdict kept`, shown.verdict.kind === 'kept', shown.verdict);
  const exclusive = status.containers.filter(({ placement }) => placement === 'exclusive');
  want(
    'status has one owner',
    exclusive.map((shown) => shown.id).join() === (id ?? ''),
    exclusive.map((shown) => [shown.id, shown.container]),
  );

  const planned = status.idle.filter((idle) => idle.planned === true).map(({ cpus }) => cpus);
  want('CPUs held for pods', planned.join() === (isHeld ? exclusiveCpu : ''), status.idle);

  const own = owner === undefined ? [] : await owner.pids(container);
  if (owner !== undefined) {
    want('the owner has processes', own.length > 0, own);
    const { cpus } = await owner.cpuset(container);
    want("the owner's cpuset", cpus === wanted, cpus);
    want(
      "the masks of the owner's processes",
      own.map(readMask).every((mask) => mask === wanted),
      own.map(readMask),
    );
    const pod = await owner.read();
    const ready = pod.status.conditions?.find(({ type }) => type === 'Ready');
    want('the pod is ready', pod.status.phase === 'Running' && ready?.status === 'True', pod.status);
  }
  const strays = listPids(node)
    .filter((pid) => !own.includes(pid))
    .flatMap((pid) => readMaskOrNone(pid));
  if (owner !== undefined)
    want(
      'no other process of a container can use its CPU',
      strays.every((mask) => !parseCpuList(mask).has(Number(exclusiveCpu))),
      strays,
    );

  const condition = await node.condition('CpusetdReady');
  const reason = alarm === undefined ? 'Pinning' : 'Alarm';
  want(`the condition of the Node has the reason ${reason}`, condition?.reason === reason, condition);
  const alarms = status.node.alarms.map(({ kind }) => kind);
  want('alarms', alarms.join() === (alarm ?? ''), alarms);
  const available = await node.availableCpus();
  want('NodeResourceTopology: available CPUs', available === (owner === undefined && !isHeld ? 1 : 0), available);
  return { status, contradictions };
}

/**
 * The processes of all containers of the node's runtime. CRI-O's own conmon runs in the cgroup of the pod, and is none
 * of them.
 */
function listPids({ runtime }: ClusterNode): number[] {
  const root = cpusetDirOf(runtime.cgroupRoot);
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('cgroup.procs'),
  );
  const pids = files.flatMap((name) => readPids(join(runtime.cgroupRoot, dirname(name))));
  return pids.filter((pid) => readCommand(pid) !== 'conmon');
}

function readCommand(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return undefined; // it has ended
  }
}

function readMaskOrNone(pid: number): string[] {
  try {
    return [readMask(pid)];
  } catch {
    return []; // it has ended
  }
}
