import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { TOPOLOGY_RESULT } from '../../../src/core/annotations/topology-result';
import { requireApiServer } from '../../e2e/rig/api-server';
import { projectRoot } from '../../e2e/rig/project-root';
import { poll } from '../../support/wait-until';
import { Cluster, schedulingManifests } from '../scheduling/rig/cluster';
import { createNode } from '../scheduling/rig/create-node';
import { podOf, type Pod, topologyPaths } from '../scheduling/rig/objects';
import { AlternatingServer } from './rig/alternating-server';
import { Extender } from './rig/extender';
import { PinnedScheduler, pinnedScheduler } from './rig/pinned-scheduler';
import { formatFirstSchedulerConfig } from './rig/scheduler-config';

// Both kube-schedulers of deploy/scheduling, and two replicas of the extender, lost in every order. There is no
// kubelet: a pod that has a node would start.

jest.setTimeout(600_000);

const names = ['node-a', 'node-b'];
const first = 'default-scheduler';
const zone = (name: string) => ({
  name,
  type: 'Node',
  resources: { capacity: { cpu: '8' }, allocatable: { cpu: '8' } },
});

interface Template {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: { readonly template: { readonly metadata: object; readonly spec: object } };
}

/** The pods that the Deployments of deploy/scheduling make. */
const ofDeployments = ['annotator', 'extender', 'scheduler'].flatMap((file) =>
  parseAllDocuments(readFileSync(join(projectRoot(), `deploy/scheduling/${file}.yaml`), 'utf8'))
    .map((document) => document.toJS() as Template)
    .filter(({ kind }) => kind === 'Deployment')
    .map(({ metadata: { name, namespace }, spec: { template } }) => ({
      path: `/api/v1/namespaces/${namespace}/pods`,
      name,
      body: { apiVersion: 'v1', kind: 'Pod', metadata: { ...template.metadata, name }, spec: template.spec },
    })),
);

const systemPod = {
  path: '/api/v1/namespaces/kube-system/pods',
  name: 'dns',
  body: {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'dns' },
    spec: {
      priorityClassName: 'system-node-critical',
      automountServiceAccountToken: false,
      containers: [{ name: 'main', image: 'none', resources: { requests: { cpu: '100m', memory: '70Mi' } } }],
    },
  },
};
const plainPod = {
  path: '/api/v1/namespaces/default/pods',
  name: 'plain',
  body: podOf({ name: 'plain', cpus: 0, scheduler: first }),
};
const wholeCpusOfFirst = {
  path: '/api/v1/namespaces/default/pods',
  name: 'whole',
  body: podOf({ name: 'whole', cpus: 1, scheduler: first }),
};
/** The pods that have to start without the extender. */
const others = [plainPod, systemPod, wholeCpusOfFirst, ...ofDeployments];

requireApiServer()('both kube-schedulers of deploy/scheduling, and what they start without the extender', () => {
  let cluster: Cluster;
  let replicas: Extender[] = [];
  let service: Awaited<ReturnType<typeof AlternatingServer.start>>;
  let pinned: PinnedScheduler | undefined;
  const urlPrefix = () => `http://127.0.0.1:${service.port}`;

  beforeAll(async () => {
    cluster = await Cluster.start({
      kind: 'crane',
      manifests: [...schedulingManifests, 'scheduling/scheduler-rbac.yaml'],
    });
    cluster.kubectl('create', 'serviceaccount', 'default', '--namespace', 'kube-system');
    for (const name of names) {
      await createNode(cluster.client, { name, cpus: 16, memoryMib: 65_536 });
      const kind = { apiVersion: 'topology.crane.io/v1alpha1', kind: 'NodeResourceTopology' };
      const craneManagerPolicy = { cpuManagerPolicy: 'Static', topologyManagerPolicy: 'SingleNUMANodePodLevel' };
      const body = { ...kind, metadata: { name }, craneManagerPolicy, zones: ['node0', 'node1'].map(zone) };
      await cluster.client.send({ method: 'POST', path: topologyPaths.crane, body });
    }
    const args = [
      ...['--policy-config-path', 'deploy/scheduling/policy.yaml'],
      ...['--plugins', 'Dynamic=3,NodeResourceTopologyMatch=2'],
      ...['--kubeconfig', cluster.kubeconfigOf('cpusetd-extender', 'cpusetd-scheduling'), '--time-zone', 'UTC'],
    ];
    replicas = [await Extender.start(args), await Extender.start(args)];
    service = await AlternatingServer.start(replicas.map(({ port }) => port));
    await startSchedulers();
  });
  afterAll(async () => {
    await pinned?.stop();
    for (const replica of replicas) await replica.stop();
    await service?.stop();
    await cluster?.stop();
  });
  afterEach(async () => {
    const made = [...others, ...['pinned', 'waits', 'later'].map((name) => ({ path: plainPod.path, name }))];
    for (const { path, name } of made)
      await cluster.client
        .send({ method: 'DELETE', path: `${path}/${name}`, query: { gracePeriodSeconds: '0' } })
        .catch(() => undefined); // most were not made
  });

  const startSchedulers = async (): Promise<void> => {
    await cluster.startScheduler(formatFirstSchedulerConfig(urlPrefix()));
    pinned = PinnedScheduler.start(cluster, urlPrefix());
  };
  const stopSchedulers = async (): Promise<void> => {
    await cluster.stopScheduler('kube-scheduler');
    await pinned?.stop();
  };
  const createPinned = (name: string): Promise<void> => cluster.create({ name, cpus: 2, scheduler: pinnedScheduler });
  const untilBound = (name: string, path = plainPod.path): Promise<Pod> =>
    poll(`${name} to have a node`, async () => {
      const pod = (await cluster.client.send({ method: 'GET', path: `${path}/${name}` })) as Pod;
      return pod.spec.nodeName === undefined ? undefined : pod;
    });
  const startOthers = async (): Promise<void> => {
    for (const { path, body } of others) await cluster.client.send({ method: 'POST', path, body });
    for (const { path, name } of others) await untilBound(name, path);
  };
  const hasResult = ({ metadata }: Pod): boolean => metadata.annotations?.[TOPOLOGY_RESULT] !== undefined;
  /** Waits until the scheduler has tried the pod, and says why it waits. */
  const readWhyItWaits = (name: string): Promise<string> =>
    poll(`${name} to be tried`, async () => {
      const pod = (await cluster.client.send({ method: 'GET', path: `${plainPod.path}/${name}` })) as Pod;
      expect(pod.spec.nodeName).toBeUndefined();
      return pod.status.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False')?.message;
    });

  test('given all of it: a pod of the second scheduler is bound with the result of the extender, all others by the first', async () => {
    await createPinned('pinned');
    expect(hasResult(await untilBound('pinned'))).toBe(true);
    await startOthers();
    expect(hasResult(await untilBound('whole'))).toBe(false); // the node decides where its CPUs are
  });

  test('given no extender: a plain pod, one of the system and those of annotator, extender and scheduler start; the pinned one waits, and starts when one is back', async () => {
    for (const replica of replicas) await replica.kill();
    await createPinned('waits');
    await startOthers();
    expect(await readWhyItWaits('waits')).toMatch(/extender|502|EOF|refused/i);
    await replicas[1]!.restart();
    await createPinned('later'); // kube-scheduler tries a pod again when something happens, or after five minutes
    for (const name of ['later', 'waits']) expect(hasResult(await untilBound(name))).toBe(true);
    await replicas[0]!.restart();
  });

  test('given extenders that do not answer, as when their nodes are lost: the others start', async () => {
    for (const { pid } of replicas) process.kill(pid, 'SIGSTOP');
    try {
      await startOthers();
    } finally {
      for (const { pid } of replicas) process.kill(pid, 'SIGCONT');
    }
    await createPinned('pinned');
    expect(hasResult(await untilBound('pinned'))).toBe(true);
  });

  test('given a control plane that starts with no extender and no second scheduler: all that they need starts, and then pinned pods', async () => {
    await stopSchedulers();
    for (const replica of replicas) await replica.kill();
    for (const name of ['kube-apiserver', 'etcd']) await cluster.plane.kill(name);
    for (const name of ['etcd', 'kube-apiserver']) await cluster.plane.start(name);
    await cluster.startScheduler(formatFirstSchedulerConfig(urlPrefix()));
    await createPinned('pinned');
    await startOthers();
    for (const replica of replicas) await replica.restart();
    pinned = PinnedScheduler.start(cluster, urlPrefix());
    expect(hasResult(await untilBound('pinned'))).toBe(true);
  });

  test('no request of the extender and of both schedulers lacks a right of deploy/', () => {
    expect(cluster.listForbidden()).toEqual([]);
  });
});
