import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInProcess as cpusetd } from '../../support/run-cli';

const folder = mkdtempSync(join(tmpdir(), 'annotator-cli-'));
const policy = join(folder, 'policy.yaml');
writeFileSync(
  policy,
  `apiVersion: scheduler.policy.crane.io/v1alpha1
kind: DynamicSchedulerPolicy
spec:
  syncPolicy: [{ name: cpu_usage_avg_5m, period: 3m }]
`,
);
afterAll(() => rmSync(folder, { recursive: true }));

const prometheus = ['--prometheus-address', 'http://127.0.0.1:1'];
const annotator = (args: readonly string[], options: Parameters<typeof cpusetd>[1] = {}): ReturnType<typeof cpusetd> =>
  cpusetd(['annotator', ...args], options);

test.each`
  args                                                            | message
  ${[]}                                                           | ${'--prometheus-address: is not set; write the address of Prometheus, like http://prometheus:9090'}
  ${['--prometheus-address', 'prometheus:9090']}                  | ${'--prometheus-address: "prometheus:9090" is not an HTTP address; write it like http://prometheus:9090'}
  ${['--prometheus-address', 'http://x?a=b']}                     | ${'--prometheus-address: "http://x?a=b" has a query or a fragment'}
  ${[...prometheus, '--policy-config-path', '']}                  | ${'--policy-config-path: "" names no file; write the path of a file'}
  ${[...prometheus, '--binding-heap-size', '0']}                  | ${'--binding-heap-size: "0" is out of range; write a whole number from 1 to 1000000'}
  ${[...prometheus, '--concurrent-syncs', 'many']}                | ${'--concurrent-syncs: "many" is not a whole number'}
  ${[...prometheus, '--kubeconfig', 'kubeconfig']}                | ${'--kubeconfig: "kubeconfig" is not an absolute path; write the absolute path of a file, or in-cluster'}
  ${[...prometheus, '--master', 'x']}                             | ${'--master: "x" is not an HTTP address'}
  ${[...prometheus, '--health-port', '70000']}                    | ${'--health-port: "70000" is out of range; write a whole number from 0 to 65535'}
  ${[...prometheus, '--leader-elect=maybe']}                      | ${'--leader-elect: "maybe" is not a switch; write true or false'}
  ${[...prometheus, '--leader-elect-lease-duration', '15']}       | ${'--leader-elect-lease-duration: "15" is not a duration; write it like 10s'}
  ${[...prometheus, '--leader-elect-lease-duration', '10s']}      | ${'--leader-elect-*: the lease duration must be longer than the renew deadline; change one of them'}
  ${[...prometheus, '--leader-elect-lease-duration', '15.5s']}    | ${'--leader-elect-*: the lease duration must be whole seconds; change one of them'}
  ${[...prometheus, '--leader-elect-retry-period', '9s']}         | ${'--leader-elect-*: the renew deadline must be longer than 1.2 times the retry period'}
  ${[...prometheus, '--leader-elect-resource-lock', 'endpoints']} | ${'--leader-elect-resource-lock: "endpoints" is not a known value; write leases'}
  ${[...prometheus, '--leader-elect-resource-name', 'A/B']}       | ${'--leader-elect-resource-name: "A/B" is not a name of Kubernetes'}
  ${[...prometheus, '--leader-elect-resource-namespace', 'x y']}  | ${'--leader-elect-resource-namespace: "x y" is not a name of Kubernetes'}
  ${[...prometheus, '--time-zone', 'Mars/Base']}                  | ${'--time-zone: Mars/Base is no time zone that is known here; write a name like Asia/Shanghai or UTC'}
  ${[...prometheus, '--time-zone', '../etc/passwd']}              | ${'--time-zone: "../etc/passwd" is not a time zone'}
  ${[...prometheus, '--metric-selector', '']}                     | ${'--metric-selector: "" is no list of matchers of labels; write it like cluster="a",env=~"prod|test"'}
  ${[...prometheus, '--metric-selector', '{cluster="a"}']}        | ${'is no list of matchers of labels'}
  ${[...prometheus, '--metric-selector', 'cluster=a']}            | ${'is no list of matchers of labels'}
  ${[...prometheus, '--metric-selector', 'a="b"} or vector(1)']}  | ${'is no list of matchers of labels'}
  ${[...prometheus, '--metric-selector', '__name__="x"']}         | ${'is no list of matchers of labels'}
  ${[...prometheus, '--metric-selector', 'a="b",']}               | ${'is no list of matchers of labels'}
  ${[...prometheus, '--metric-selector', 'a="b']}                 | ${'is no list of matchers of labels'}
  ${[...prometheus, '--dry-run=2']}                               | ${'--dry-run: "2" is not a switch; write true or false'}
  ${[...prometheus, '--log-level', 'x']}                          | ${'--log-level: "x" is not a known value; choose one of trace'}
  ${[...prometheus, '--workers', '3']}                            | ${"unknown option '--workers'"}
`(
  'given $args: exit 2, and the message names input, rule and remedy',
  async ({ args, message }: { args: string[]; message: string }) => {
    const ended = await annotator(args);
    expect(ended).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(message) });
  },
);

test('given a policy file that is missing: exit 1, and the message names it', async () => {
  const ended = await annotator([...prometheus, '--policy-config-path', '/no/file']);
  expect(ended).toMatchObject({
    status: 1,
    stderr: 'cpusetd: /no/file: no such file; check the path of the policy file\n',
  });
});

test('given a count of 0 in the policy file: exit 1 with file, line and rule (count 0 panics, fault of upstream)', async () => {
  const path = join(folder, 'zero.yaml');
  writeFileSync(
    path,
    `apiVersion: scheduler.policy.crane.io/v1alpha1
kind: DynamicSchedulerPolicy
spec:
  syncPolicy: [{ name: cpu_usage_avg_5m, period: 3m }]
  hotValue:
    - timeRange: 5m
      count: 0
`,
  );
  const { status, stderr } = await annotator([...prometheus, '--policy-config-path', path]);
  expect(status).toBe(1);
  expect(stderr).toMatch(new RegExp(`^cpusetd: ${path}:7: .*count: must be a whole number of at least 1`));
});

test('given several wrong flags: each is named', async () => {
  const { stderr } = await annotator(['--prometheus-address', 'x', '--health-port', 'y']);
  expect(stderr.trim().split('\n')).toHaveLength(2);
});

test('given an unknown zone in TZ: the message names TZ (unknown TZ panics, fault of upstream)', async () => {
  const { status, stderr } = await annotator(prometheus, { env: { TZ: 'Nowhere/Here' } });
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: 'cpusetd: TZ: Nowhere/Here is no time zone that is known here; write a name like Asia/Shanghai or UTC\n',
  });
});

test('given a wrong namespace in the environment: the message names the variable', async () => {
  const { status, stderr } = await annotator(prometheus, { env: { CRANE_SYSTEM_NAMESPACE: 'A B' } });
  expect({ status, stderr }).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('CRANE_SYSTEM_NAMESPACE: A B'),
  });
});

test('given a port that is in use: exit 2 with the flag', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const args = [...prometheus, '--policy-config-path', policy, '--health-port', String(port)];
    expect(await annotator(args)).toMatchObject({
      status: 2,
      stderr: `cpusetd: --health-port ${port}: can't be listened on (EADDRINUSE); choose another, or 0 for none\n`,
    });
  } finally {
    server.close();
  }
});

test('the help has every flag of crane-scheduler-controller with its default', async () => {
  const { stdout, status } = await annotator(['--help']);
  const text = stdout.replace(/\s+/g, ' ');
  for (const [flag, fallback] of [
    ['policy-config-path', '/etc/kubernetes/policy.yaml'],
    ['prometheus-address', undefined],
    ['binding-heap-size', '1024'],
    ['concurrent-syncs', '8'],
    ['kubeconfig', 'in-cluster'],
    ['master', undefined],
    ['health-port', '8090'],
    ['leader-elect', 'true'],
    ['leader-elect-lease-duration', '15s'],
    ['leader-elect-renew-deadline', '10s'],
    ['leader-elect-retry-period', '2s'],
    ['leader-elect-resource-lock', 'leases'],
    ['leader-elect-resource-name', 'crane-scheduler-controller'],
    ['leader-elect-resource-namespace', 'crane-system'],
  ])
    expect(text).toMatch(
      new RegExp(`--${flag!} [<[][^>\\]]+[>\\]] [^()]*${fallback === undefined ? '' : `\\([^)]*${fallback}\\)`}`),
    );
  expect(status).toBe(0);
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
});

test.each([[['--leader-elect']], [['--leader-elect=true']], [['--leader-elect=F']], [['--kubeconfig=']]])(
  'given %j, as in manifests of crane-scheduler: it starts, and ends in order',
  async (args) => {
    const end = new AbortController();
    setTimeout(() => end.abort(), 100);
    const common = [...prometheus, '--policy-config-path', policy, '--health-port', '0'];
    expect(await annotator([...common, ...args], { signal: end.signal })).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    });
  },
);
