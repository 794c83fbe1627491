import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { AnnotatorMetrics } from '../../src/scheduling/annotator/metrics';
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
  readonly spec: {
    readonly template: { readonly spec: PodSpec };
    readonly ports: readonly { readonly port: number; readonly targetPort: string }[];
    readonly selector: unknown;
  };
}

interface PodSpec {
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
    const { containerPort } = container.ports.find((of) => of.name === port)!;
    const listens = container.args.join(' ').match(/--listen=\S+:(\d+)/)?.[1] ?? '8090';
    expect(String(containerPort)).toBe(listens);
    expect(container.volumeMounts.map((of) => of.name)).toEqual(pod.volumes.map((of) => of.name));
  });
});

test('annotator and extender have the same time zone', () => {
  const zones = ['annotator', 'extender'].map((name) =>
    podOf(`${name}.yaml`).containers[0].args.find((arg) => arg.startsWith('--time-zone=')),
  );
  expect(zones[0]).toBeDefined();
  expect(zones[1]).toBe(zones[0]);
});

test('the configuration of the scheduler has the address of the Service and the paths of the extender', () => {
  const { extenders } = parse(read('kube-scheduler-config.yaml')) as { extenders: Record<string, unknown>[] };
  const service = readAll('extender.yaml').find(({ kind }) => kind === 'Service')!;
  const { name, namespace } = service.metadata;
  expect(extenders).toHaveLength(1);
  expect(extenders[0]).toMatchObject({
    urlPrefix: `https://${name}.${namespace}.svc:${service.spec.ports[0]!.port}`,
    ...{ filterVerb: 'filter', prioritizeVerb: 'prioritize', bindVerb: 'bind', preemptVerb: 'preempt' },
    ...{ weight: 1, enableHTTPS: true, nodeCacheCapable: true, ignorable: false },
  });
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
  const extender = new ExtenderMetrics({ isSynced: () => true, nodes: zero, topologies: zero, pods: zero });
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
