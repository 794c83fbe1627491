import { formatClaims, readClaims } from '../../../src/kube';
import { fitPod, needsOf, sumUse, useOf } from '../../../src/core/fit';
import { announcementOf, readPod, readPodToPlace } from '../../../src/kube';
import { readNodeTopology } from '../../../src/scheduling/topology/node-topology';

export const maxBytes = 16_384;

const RESULT = 'topology.crane.io/topology-result';
const amounts = { cpu: '2', memory: '1Gi' };
const podOf = (annotations: object) => ({
  metadata: { name: 'p', namespace: 'd', uid: 'u', annotations },
  spec: { nodeName: 'n', containers: [{ name: 'c', resources: { requests: amounts, limits: amounts } }] },
});
const zone = (name: string) => ({
  name,
  type: 'Node',
  resources: { capacity: { cpu: '8' }, allocatable: { cpu: '8', memory: '64Gi' } },
});
const claims = JSON.stringify({ x: { pod: 'd/x', zones: { node0: { cpu: '2' } }, at: '2026-11-23T10:00:00.000Z' } });
const result = JSON.stringify([{ name: 'node1', type: 'Node', resources: { capacity: { cpu: '3' } } }]);

export const seeds = (): readonly Uint8Array[] =>
  [true, false].map((isAware) =>
    Buffer.from(
      JSON.stringify({
        topology: {
          metadata: { name: 'n', annotations: { 'cpusetd.io/assumed-pods': claims } },
          craneManagerPolicy: {
            cpuManagerPolicy: 'Static',
            topologyManagerPolicy: isAware ? 'SingleNUMANodePodLevel' : 'None',
          },
          attributes: {
            'cpusetd.io/rules': JSON.stringify({ v: 1, policy: 'static', cpusPerCore: 2 }),
            'cpusetd.io/room': JSON.stringify({ cpus: { 0: 8, 1: 7 }, whole: { 0: 8, 1: 6 }, bound: 13 }),
          },
          zones: [zone('node0'), zone('node1')],
        },
        pod: podOf({}),
        bound: podOf({ [RESULT]: result }),
      }),
    ),
  );

/**
 * A topology, a pod, and a bound pod with a result, all of any shape: a fit gives the pod what it requests, of zones
 * that have it free; claims are the same after they were written and read again.
 */
export function fuzz(data: Buffer): void {
  const { topology: object, pod, bound } = parse(data);
  const topology = readNodeTopology(object);
  if (!topology) return;
  checkClaims(topology.claims);
  const { offer } = topology;
  const rules = offer.rules === 'unreadable' ? undefined : offer.rules;
  const boundPod = readPod(bound);
  const announced = boundPod && announcementOf(boundPod);
  const use = announced && useOf(announced, rules);
  const used = sumUse([...(use ? [use] : []), ...[...topology.claims.values()].map(({ zones }) => zones)]);
  const place = readPodToPlace(pod, ['cpu', 'memory']);
  if (!place) return;
  for (const strategy of ['LeastAllocated', 'MostAllocated'] as const) {
    const fit = fitPod(place, offer, used, strategy);
    if (fit.kind !== 'fit' || fit.grants.length === 0) continue;
    for (const [resource, wanted] of needsOf(place, rules).request) {
      let sum = 0;
      for (const { zone: name, amounts: ofZone } of fit.grants) {
        const amount = ofZone.get(resource) ?? 0;
        sum += amount;
        const zoneOfNode = offer.zones.find((zone) => zone.name === name)!;
        const given = resource === 'cpu' ? zoneOfNode.room?.cpu : undefined;
        const allocatable = given ?? zoneOfNode.allocatable.get(resource) ?? 0;
        // A zone whose CPUs are over-used may still give memory.
        const free = Math.max(0, allocatable - (used.get(name)?.get(resource) ?? 0));
        if (amount > free) throw new Error(`${amount} of ${free} free ${resource} in ${name}`);
      }
      if (Math.abs(sum - wanted) > wanted * 1e-9) throw new Error(`${sum} of ${wanted} ${resource}`);
    }
  }
}

function checkClaims(read: ReturnType<typeof readClaims>): void {
  const text = formatClaims(read);
  const again = readClaims(text === null ? {} : { 'cpusetd.io/assumed-pods': text });
  if (formatClaims(again) !== text) throw new Error(`${text} became ${formatClaims(again)}`);
}

function parse(data: Buffer): Readonly<Record<'topology' | 'pod' | 'bound', unknown>> {
  try {
    return Object(JSON.parse(data.toString('utf8'))) as Readonly<Record<'topology' | 'pod' | 'bound', unknown>>;
  } catch {
    return { topology: undefined, pod: undefined, bound: undefined };
  }
}
