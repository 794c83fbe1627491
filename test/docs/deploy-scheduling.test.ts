import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { AnnotatorMetrics } from '../../src/scheduling/annotator/metrics';
import { HOT_VALUE } from '../../src/scheduling/load/figure';
import { ExtenderMetrics } from '../../src/scheduling/extender/metrics';
import { parsePolicy } from '../../src/scheduling/policy/parse-policy';
import { runInProcess as cpusetd } from '../support/run-cli';

// The files of deploy/scheduling against each other and against the commands.

const read = (name: string): string => readFileSync(join(__dirname, '../../deploy/scheduling', name), 'utf8');
const readAll = (name: string): Manifest[] =>
  parseAllDocuments(read(name)).map((document) => document.toJS() as Manifest);

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
  readonly spec: {
    readonly template: { readonly spec: PodSpec };
    readonly ports: readonly { readonly port: number; readonly targetPort: string }[];
    readonly selector: unknown;
  };
}

interface PodSpec {
  readonly schedulerName: string;
  readonly serviceAccountName: string;
  readonly securityContext: { readonly runAsNonRoot: boolean };
  readonly containers: [
    {
      readonly args: string[];
      readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
      readonly readinessProbe: { readonly httpGet: { readonly path: string; readonly port: string } };
      readonly securityContext: unknown;
      readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
    },
  ];
  readonly volumes: readonly { readonly name: string }[];
}

const podOf = (name: string): PodSpec => readAll(name).find(({ kind }) => kind === 'Deployment')!.spec.template.spec;

describe.each(['annotator', 'extender'])('the Deployment of the %s', (name) => {
  const pod = podOf(`${name}.yaml`);
  const [container] = pod.containers;

  test('has flags that the command accepts: the start fails only for the policy file, which is not here', async () => {
    expect(await cpusetd(container.args)).toMatchObject({
      status: 1,
      stderr: 'cpusetd: /etc/kubernetes/policy.yaml: no such file; check the path of the policy file\n',
    });
  });

  test('has an account of rbac.yaml, and no rights on the node', () => {
    const accounts = readAll('rbac.yaml').filter(({ kind }) => kind === 'ServiceAccount');
    expect(accounts.map(({ metadata }) => metadata.name)).toContain(pod.serviceAccountName);
    expect(pod.securityContext.runAsNonRoot).toBe(true);
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  test('is probed where it listens, and mounts each of its volumes', () => {
    const { path, port } = container.readinessProbe.httpGet;
    expect(path).toBe('/healthz');
    const { containerPort } = container.ports.find((each) => each.name === port)!;
    const listens = container.args.join(' ').match(/--listen=\S+:(\d+)/)?.[1] ?? '8090';
    expect(String(containerPort)).toBe(listens);
    expect(container.volumeMounts.map((volumeMount) => volumeMount.name)).toEqual(
      pod.volumes.map((volume) => volume.name),
    );
  });
});

test('annotator and extender have the same time zone', () => {
  const zones = ['annotator', 'extender'].map((name) =>
    podOf(`${name}.yaml`).containers[0].args.find((arg) => arg.startsWith('--time-zone=')),
  );
  expect(zones[0]).toBeDefined();
  expect(zones[1]).toBe(zones[0]);
});

interface SchedulerConfig {
  readonly profiles?: readonly { readonly schedulerName: string }[];
  readonly extenders: readonly Record<string, unknown>[];
}
const readConfig = (name: string): SchedulerConfig => parse(read(name)) as SchedulerConfig;

describe('the configurations of both schedulers', () => {
  const service = readAll('extender.yaml').find(({ kind }) => kind === 'Service')!;
  const { name, namespace } = service.metadata;
  const { port } = service.spec.ports[0]!;
  const common = {
    filterVerb: 'filter',
    prioritizeVerb: 'prioritize',
    weight: 1,
    enableHTTPS: true,
    nodeCacheCapable: true,
  };

  test('that of all pods goes on without the extender, and does not have it bind or preempt', () => {
    const { extenders, profiles } = readConfig('kube-scheduler-config.yaml');
    expect(profiles).toBeUndefined();
    expect(extenders).toHaveLength(1);
    expect(extenders[0]).toMatchObject({
      ...common,
      urlPrefix: `https://${name}.${namespace}.svc:${port}`,
      ignorable: true,
    });
    expect(Object.keys(extenders[0]!)).not.toEqual(expect.arrayContaining(['bindVerb']));
    expect(Object.keys(extenders[0]!)).not.toEqual(expect.arrayContaining(['preemptVerb']));
  });

  test('that of pods that name it waits for the extender', () => {
    const { extenders, profiles } = readConfig('scheduler-config.yaml');
    expect(profiles).toEqual([{ schedulerName: 'cpusetd-scheduler' }]);
    expect(extenders).toHaveLength(1);
    const verbs = { bindVerb: 'bind', preemptVerb: 'preempt' };
    expect(extenders[0]).toMatchObject({ ...common, ...verbs, urlPrefix: `https://${name}:${port}`, ignorable: false });
  });

  test('no pod of the folder is of a scheduler that waits for the extender', () => {
    for (const file of ['annotator.yaml', 'extender.yaml', 'scheduler.yaml'])
      expect([file, podOf(file).schedulerName]).toEqual([file, 'default-scheduler']);
  });

  test('the second has an account, and mounts its configuration and its certificate', () => {
    const pod = podOf('scheduler.yaml');
    const accounts = readAll('scheduler-rbac.yaml').filter(({ kind }) => kind === 'ServiceAccount');
    expect(accounts.map(({ metadata }) => metadata.name)).toEqual([pod.serviceAccountName]);
    const [{ args, volumeMounts }] = pod.containers;
    expect(args[0]).toBe(`--config=${volumeMounts[0]!.mountPath}/scheduler-config.yaml`);
    for (const file of Object.values(readConfig('scheduler-config.yaml').extenders[0]!['tlsConfig'] as object))
      expect(String(file)).toMatch(new RegExp(`^${volumeMounts[1]!.mountPath}/`));
  });
});

test('the annotator may write the metrics of the policy file and the hot value, and nothing else', () => {
  const policy = readAll('validating-admission-policy.yaml').find(
    ({ metadata }) => metadata.name === 'cpusetd-annotator-figures',
  ) as unknown as {
    readonly spec: { readonly variables: readonly { readonly name: string; readonly expression: string }[] };
  };
  const { expression } = policy.spec.variables.find(({ name }) => name === 'names')!;
  const { spec } = parse(read('policy.yaml')) as { spec: { syncPolicy: { name: string }[] } };
  const names = [...expression.matchAll(/'([^']+)'/g)].map(([, name]) => name);
  expect(names).toEqual([...spec.syncPolicy.map(({ name }) => name), HOT_VALUE]);
});

test.each(['scheduling', 'components/api-server', 'components/qos', 'components/scheduling-own-pods'])(
  'the policies of %s are for an account of the folder, in whatever namespace it is and with a prefix of Kustomize',
  (folder) => {
    const text = readFileSync(join(__dirname, '../../deploy', folder, 'validating-admission-policy.yaml'), 'utf8');
    const policies = text.match(/^kind: ValidatingAdmissionPolicy$/gm)!;
    const patterns = [...text.matchAll(/^ +expression: request\.userInfo\.username\.matches\('(.+)'\)$/gm)];
    expect(patterns).toHaveLength(policies.length);
    for (const [, pattern] of patterns) {
      const account = /(cpusetd[-a-z]*)\$$/.exec(pattern!)![1]!;
      for (const namespace of ['cpusetd', 'cpusetd-scheduling', 'tools'])
        for (const name of [account, `team-${account}`])
          expect(`system:serviceaccount:${namespace}:${name}`).toMatch(new RegExp(pattern!));
      for (const other of ['default', `${account}-other`, `x:${account}`])
        expect(`system:serviceaccount:tools:${other}`).not.toMatch(new RegExp(pattern!));
    }
  },
);

const FILES = readdirSync(join(__dirname, '../../deploy/scheduling')).filter((name) => name.endsWith('.yaml'));
const objects = FILES.flatMap(readAll).filter(({ metadata }) => metadata);

test('each object of the folder, and each account that gets a right, is in its namespace, which holds nothing else', () => {
  const isOfTheCluster = ({ kind }: Manifest): boolean => /^(?:Namespace$|Cluster|ValidatingAdmission)/.test(kind);
  const placed = objects.filter((object) => !isOfTheCluster(object));
  expect(placed.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['PrometheusRule', 'Role', 'NetworkPolicy']));
  const accounts = objects.flatMap(({ subjects = [] }) => subjects);
  const places = [...placed.map(({ kind, metadata }) => ({ kind, ...metadata })), ...accounts];
  expect(places.filter(({ namespace }) => namespace !== 'cpusetd-scheduling')).toEqual([]);
  expect(FILES.filter((name) => /namespace: cpusetd$/m.test(read(name)))).toEqual([]);
});

test('the network policy lets Prometheus in at the port of the annotator, and keeps no scheduler from the extender', () => {
  const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy') as unknown as { spec: object }[];
  const [annotator] = readAll('annotator.yaml') as unknown as { spec: { selector: object } }[];
  expect(policies.map(({ spec }) => spec)).toEqual([
    {
      podSelector: annotator!.spec.selector,
      policyTypes: ['Ingress'],
      ingress: [
        { from: [{ namespaceSelector: expect.anything() as unknown }], ports: [{ protocol: 'TCP', port: 'health' }] },
      ],
    },
  ]);
  expect(podOf('annotator.yaml').containers[0].ports).toEqual([{ name: 'health', containerPort: 8090 }]);
});

test('the PrometheusRule has the groups of the rule file, and they make each metric of the policy', () => {
  const { groups } = parse(read('prometheus-rules.yaml')) as { groups: { rules: { record: string }[] }[] };
  const resource = parse(read('prometheus-rule.yaml')) as { kind: string; spec: object };
  expect(resource).toMatchObject({ kind: 'PrometheusRule', spec: { groups } });
  const parsed = parsePolicy(read('policy.yaml'), 'policy.yaml');
  if (!parsed.ok) throw new Error(parsed.problems.join('\n'));
  const recorded = groups.flatMap(({ rules }) => rules.map(({ record }) => record));
  for (const { name } of parsed.policy.syncPolicy) expect(recorded).toContain(name);
});

/** The names of all metrics of annotator and extender. */
async function listMetrics(): Promise<string[]> {
  const zero = () => 0;
  const extender = new ExtenderMetrics({
    isSynced: () => true,
    nodes: zero,
    topologies: zero,
    pods: zero,
    policyIsRefused: () => false,
  });
  const annotator = new AnnotatorMetrics(['cpu'], () => ({ nodes: 0, bindings: 0, isLeading: false }));
  const texts = await Promise.all([extender.expose(), annotator.expose()]);
  return texts.flatMap((text) => [...text.matchAll(/^# TYPE (cpusetd_\w+)/gm)].map(([, name]) => name!));
}

test('each metric is in the table of the page, and those of the alerts exist', async () => {
  const metrics = await listMetrics();
  expect(metrics.length).toBeGreaterThan(15);
  const page = readFileSync(join(__dirname, '../../docs/load-aware-scheduling.md'), 'utf8');
  const chapter = page.split('\n## Metrics\n')[1]!.split('\n## ')[0]!;
  const named = ['annotator', 'extender'].flatMap((program) => {
    const table = chapter.split(`cpusetd_${program}_…`)[1]!.split('\n\n')[0]!;
    return table
      .split('\n')
      .flatMap((row) =>
        [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => `cpusetd_${program}_${name}`),
      );
  });
  expect(named.sort()).toEqual([...metrics].sort());
  const { groups } = parse(read('alerts.yaml')) as { groups: { rules: { alert: string; expr: string }[] }[] };
  const used = groups.flatMap(({ rules }) => rules.flatMap(({ expr }) => expr.match(/cpusetd_\w+/g) ?? []));
  expect(used.length).toBeGreaterThan(5);
  expect(used.filter((name) => !metrics.includes(name))).toEqual([]);
});
