import type { ContainerSpec, PodSpec } from '../../src/core/model/pod-spec';

/**
 * A pod's spec from a short text: containers in their order, as `name kind request/limit`, CPUs; `!` = has ended. The
 * kind `app` and a limit that equals the request may be left out: `setup init 2!, proxy sidecar 1, db 2, web 0.5/1, log
 * 0`.
 */
export function specOf(uid: string, containers: string, more: Partial<PodSpec> = {}): PodSpec {
  return {
    uid,
    namespace: 'ns',
    name: uid,
    annotations: {},
    qos: 'Guaranteed',
    finished: false,
    containers: containers
      .split(',')
      .filter((text) => text.trim() !== '')
      .map(readContainer),
    ...more,
  };
}

function readContainer(text: string): ContainerSpec {
  const match = /^(\S+)(?: (init|sidecar|app))? ([\d.]+)(?:\/([\d.]+|-))?(!)?$/.exec(text.trim());
  if (!match) throw new Error(`not a container: ${text}`);
  const [, name = '', kind = 'app', request = '', limit = request, ended] = match;
  return {
    name,
    kind: kind as ContainerSpec['kind'],
    ended: ended !== undefined,
    ...(request !== '0' && { requestMilliCpu: Number(request) * 1000 }),
    ...(limit !== '-' && limit !== '0' && { limitMilliCpu: Number(limit) * 1000 }),
  };
}
