import { CpusetdError } from '../../../src/core/errors';
import type { RuntimeEvent } from '../../../src/core/model/events';
import { NodeModel } from '../../../src/core/model/node-model';
import { POLICY_NAMES } from '../../../src/core/model/policies';
import { Draft, handle } from '../../../src/core/transition';
import { EVENT_METHODS, readEvent } from '../../../src/nri-events/read-event';
import { findBrokenSets } from '../../support/invariants';
import { EIGHT_CPUS, settingsWith } from '../../core/transition/node-driver';
import { encodeEventRequest, encodeStateChange, Event } from '../../nri-events/build-request';

export const maxBytes = 4_096;

const pod = {
  id: 'sandbox',
  uid: 'uid',
  name: 'pod',
  namespace: 'ns',
  annotations: { 'cpusetd.io/policy': 'static' },
  linux: { cgroupParent: '/kubepods/poduid' },
};
const container = {
  id: 'container',
  podSandboxId: 'sandbox',
  name: 'app',
  linux: {
    cgroupsPath: '/kubepods/poduid/container',
    resources: { cpu: { shares: { value: 2048 }, quota: { value: 200000 }, period: { value: 100000 } } },
  },
};

export const seeds = (): readonly Uint8Array[] => [
  frame('RunPodSandbox', encodeEventRequest({ pod })),
  Buffer.concat([
    frame('CreateContainer', encodeEventRequest({ pod, container })),
    frame('PostStartContainer', encodeEventRequest({ pod, container })),
    frame('UpdateContainer', encodeEventRequest({ pod, container })),
    frame('RemoveContainer', encodeEventRequest({ pod, container })),
  ]),
  frame('StateChange', encodeStateChange({ event: Event.POST_START_CONTAINER, pod, container })),
];

/** Any sequence of requests is understood or refused, and the invariants of CPU sets hold after each. */
export function fuzz(data: Buffer): void {
  const model = new NodeModel(EIGHT_CPUS, settingsWith({ podPolicies: POLICY_NAMES }));
  for (const { method, payload } of cut(data)) {
    const event = read(method, payload);
    if (!event) continue;
    handle(new Draft(model, '2026-01-01T00:00:00.000Z'), event);
    const [broken] = findBrokenSets(model);
    if (broken !== undefined) throw new Error(broken);
  }
}

function read(method: string, payload: Uint8Array): RuntimeEvent | undefined {
  try {
    const event = readEvent(method, payload);
    return event === 'ignored' ? undefined : event;
  } catch (error) {
    if (error instanceof CpusetdError && error.code === 'INVALID_ARGUMENT') return undefined;
    throw error;
  }
}

/** The encoding of a request in an input: the method's number, the length in two bytes, the message. */
function frame(method: string, payload: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from([EVENT_METHODS.indexOf(method), payload.length >> 8, payload.length]), payload]);
}

function* cut(data: Buffer): Generator<{ method: string; payload: Uint8Array }> {
  for (let at = 0; at + 3 <= data.length;) {
    const begin = at + 3;
    const method = EVENT_METHODS[data[at]! % EVENT_METHODS.length]!;
    at = begin + data.readUInt16BE(at + 1);
    yield { method, payload: data.subarray(begin, at) };
  }
}
