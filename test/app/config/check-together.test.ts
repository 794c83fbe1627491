import { loadConfig, type Config } from '../../../src/app/config';
import { checkTogether, type Given } from '../../../src/app/config/check-together';
import type { Setting } from '../../../src/app/config/setting';

let sound: Config;
beforeAll(async () => {
  const loaded = await loadConfig({ flags: { 'reserved-cpus': ['0'] }, env: {} });
  if (!loaded.ok) throw new Error(loaded.problems.join());
  sound = loaded.config;
});

const flag = (name: string): [string, Setting] => [name, { name, text: 'x', origin: { kind: 'flag' } }];

/** The problems of a sound configuration with these changes, in which these options were set by flag. */
function check(config: Partial<Config>, { set = ['reserved-cpus'], rejected = [] as string[] } = {}): string[] {
  return [
    ...checkTogether({
      config: { ...sound, ...config },
      rejected: new Set(rejected) as Given['rejected'],
      chosen: new Map(set.map(flag)),
    }),
  ];
}

test('a sound configuration has no problem', () => {
  expect(check({})).toEqual([]);
});

test.each<[string, Partial<Config>, RegExp]>([
  [
    'a proxy without the socket of the runtime',
    { mode: 'cri-proxy', criEndpoint: undefined },
    /^--cri-endpoint: the mode/,
  ],
  [
    'a proxy on the socket of the runtime',
    { mode: 'cri-proxy', criEndpoint: '/run/a', criListen: { path: '/var/run/a' } },
    /^--cri-endpoint: the proxy cannot listen/,
  ],
  [
    'two options with one socket',
    { adminSocket: '/a/b', nriSocket: '/a//b' },
    /^--admin-socket and --nri-socket: both/,
  ],
  ['a state directory in sysfs', { stateDir: '/sys/x' }, /^--state-dir: \/sys\/x lies in --sysfs-root/],
  [
    'a lock directory in the state directory',
    { stateDir: '/x', lockDir: '/x/locks' },
    /^--lock-dir: .* in --state-dir/,
  ],
  [
    'a socket at a file of the state directory',
    { stateDir: '/x', adminSocket: '/x/lock' },
    /^--admin-socket: a file of/,
  ],
  ['Events without the API server', { kubeEvents: true }, /^--kube-events: this goes through the API server/],
  [
    'actions by what is not measured',
    { qosActions: 'enforce', kubeconfig: { kind: 'in-cluster' } },
    /^--qos-actions: .* set --collect-interval/,
  ],
  [
    'actions without the API server',
    { qosActions: 'enforce', collectIntervalMs: 10_000 },
    /^--qos-actions: .* set --kubeconfig/,
  ],
  [
    'quotas of pods without the CRI socket',
    { podResource: true, collectIntervalMs: 10_000, criEndpoint: undefined, kubeconfig: { kind: 'in-cluster' } },
    /^--pod-resource: .* set --cri-endpoint/,
  ],
  [
    'lending what is not measured',
    { nodeResource: 'both', kubeconfig: { kind: 'in-cluster' } },
    /^--node-resource: .* set --collect-interval/,
  ],
  ['an audit whose results nobody can read', { auditPeriodMs: 60_000 }, /^--audit-period: .* set --metrics-address/],
  [
    'health and metrics at one address',
    { healthAddress: { host: 'a', port: 1 }, metricsAddress: { host: 'a', port: 1 } },
    /both listen on one address/,
  ],
  [
    'health and the page at one address',
    { healthAddress: { host: 'a', port: 1 }, httpAddress: { host: 'a', port: 1 } },
    /--health-address and --http-address: both listen on one address/,
  ],
])('%s is a problem that names the options', (_name, config, problem) => {
  expect(check(config)).toEqual([expect.stringMatching(problem)]);
});

test('no reservation is a problem, and two reservations are one', () => {
  expect(check({}, { set: [] })).toEqual([expect.stringMatching(/^no CPU is reserved/)]);
  expect(check({}, { set: ['reserved-cpus', 'reserved-cpu-count'] })).toEqual([expect.stringMatching(/both say what/)]);
});

test('a rule is skipped when one of its options was rejected', () => {
  expect(check({ kubeEvents: true }, { rejected: ['kubeconfig'] })).toEqual([]);
});
