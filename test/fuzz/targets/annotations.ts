import { choosePolicy } from '../../../src/core/annotations/choose-policy';
import { excludesReserved } from '../../../src/core/annotations/annotations';
import { parseTopologyResult } from '../../../src/core/annotations/topology-result';
import { POLICY_NAMES } from '../../../src/core/model/policies';

export const maxBytes = 8_192;

const RESULT = 'topology.crane.io/topology-result';
const GOOD =
  '[{"name":"node0","type":"Node","resources":{"capacity":{"cpu":"2"}}},{"name":"node1","type":"Node","resources":{"capacity":{"cpu":"2000m"}}}]';

export const seeds = (): readonly Uint8Array[] =>
  [
    `${RESULT}=${GOOD}`,
    'cpusetd.io/policy=static\npolicy.cpusetd.io/container.app=numa',
    'topology.crane.io/cpu-policy=exclusive\ntopology.crane.io/exclude-reserved-cpus=true',
    'cpu-policy.topology.crane.io/container.app=immovable',
  ].map((text) => Buffer.from(text));

/** Any annotations of a pod are followed, or reported in a remark. No remark is long. */
export function fuzz(data: Buffer): void {
  const annotations = Object.fromEntries(
    data
      .toString('utf8')
      .split('\n')
      .map((line) => [line.split('=', 1)[0]!, line.slice(line.indexOf('=') + 1)]),
  );
  excludesReserved(annotations);
  const result = Object.hasOwn(annotations, RESULT) ? parseTopologyResult(annotations[RESULT]!) : undefined;
  if (result?.ok)
    for (const [node, cpus] of result.result)
      if (!Number.isSafeInteger(node) || !Number.isSafeInteger(cpus) || node < 0 || cpus <= 0)
        throw new Error(`node ${node} with ${cpus} CPUs`);
  const { remarks } = choosePolicy({ cpuManagerPolicy: 'static', podPolicies: POLICY_NAMES }, annotations, 'app');
  const shown = [...remarks.map(({ because }) => because), ...(result && !result.ok ? [result.because] : [])];
  for (const text of shown) if (text.length > 500) throw new Error(`a reason of ${text.length} characters`);
}
