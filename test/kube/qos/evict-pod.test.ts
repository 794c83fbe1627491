import { EVICT_PODS, evictPod, type EvictionOutcome } from '../../../src/kube/qos/evict-pod';
import { KubeError } from '../../../src/kube/api/kube-error';
import { MissingRights } from '../../../src/kube/api/missing-rights';
import type { Trouble } from '../../support/kube/api-server';
import { openStage, type Stage } from './stage';

const PODS = '/api/v1/pods';
const pod = { namespace: 'ns', name: 'batch', uid: 'u1' };

let stage: Stage;
afterEach(() => stage.close());

async function open(options: { readonly trouble?: Trouble; readonly without?: string } = {}): Promise<Stage> {
  const { trouble, ...rest } = options;
  stage = await openStage(rest);
  stage.server.put(PODS, { metadata: pod });
  if (trouble) stage.server.trouble = () => trouble;
  return stage;
}
const podNow = () => stage.server.get(PODS, pod.name, pod.namespace);
/** The outcome without the error, which only `MissingRights` reads. */
const shown = (outcome: EvictionOutcome): object => ({ ...outcome, error: undefined });

test('given a pod, it is evicted, and its own grace period holds', async () => {
  const { client, server } = await open();
  expect(await evictPod(client, pod)).toEqual({ kind: 'evicted' });
  expect(podNow()).toBeUndefined();
  expect(server.requests).toEqual([
    expect.objectContaining({
      method: 'POST',
      path: '/api/v1/namespaces/ns/pods/batch/eviction',
      body: {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { namespace: 'ns', name: 'batch' },
        deleteOptions: { preconditions: { uid: 'u1' } },
      },
    }),
  ]);
});

test.each([0, 7])('given a grace period of %i seconds, it is passed on', async (graceSeconds) => {
  const { client, server } = await open();
  await evictPod(client, { ...pod, graceSeconds });
  expect(server.requests[0]?.body).toMatchObject({ deleteOptions: { gracePeriodSeconds: graceSeconds } });
});

test('given another pod of that name, that one stays', async () => {
  const { client } = await open();
  expect(await evictPod(client, { ...pod, uid: 'u0' })).toEqual({
    kind: 'gone',
    because: 'another pod has its name now',
  });
  expect(podNow()).toMatchObject({ metadata: { uid: 'u1' } });
});

const budget = 'The disruption budget web needs 2 healthy pods and has 2 currently';
test.each`
  answer                                         | trouble                                                                       | want
  ${'404'}                                       | ${{ status: 404 }}                                                            | ${{ kind: 'gone', because: 'there is no pod of this name any more' }}
  ${'429 with a disruption budget as its cause'} | ${{ status: 429, causes: [{ reason: 'DisruptionBudget', message: budget }] }} | ${{ kind: 'refused', because: budget }}
  ${'429 without a cause'}                       | ${{ status: 429 }}                                                            | ${{ kind: 'failed', because: 'the API server asks to slow down (429): test says 429 ' }}
  ${'429 with another cause'}                    | ${{ status: 429, causes: [{ reason: 'Other', message: budget }] }}            | ${{ kind: 'failed', because: 'the API server asks to slow down (429): test says 429 ' }}
  ${'409 for another reason than the uid'}       | ${{ status: 409 }}                                                            | ${{ kind: 'failed', because: 'somebody else changed it at the same time (409): test says 409 ' }}
  ${'500'}                                       | ${{ status: 500 }}                                                            | ${{ kind: 'failed', because: 'the API server answered with status 500: test says 500 ' }}
`('given the answer $answer, the outcome says so', async ({ trouble, want }: { trouble: Trouble; want: object }) => {
  const { client } = await open({ trouble });
  expect(shown(await evictPod(client, pod))).toEqual({ ...want, error: undefined });
});

test('given two budgets for a pod, which the API server answers with 500, it is refused', async () => {
  await open();
  const message = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
  const send = () => Promise.reject(new KubeError(`the API server answered with status 500: ${message}`, 500));
  expect(await evictPod({ send }, pod)).toEqual({
    kind: 'refused',
    because: 'the pod has more than one PodDisruptionBudget, so the API server does not evict it',
  });
});

test('given no right, the error tells which one is missing, and in which file it is', async () => {
  const { client } = await open({ without: '/pods/eviction create' });
  const outcome = await evictPod(client, pod);
  expect(outcome).toMatchObject({ kind: 'failed', error: expect.any(KubeError) as unknown });
  const lines: unknown[][] = [];
  const rights = new MissingRights({ info: (...line: unknown[]) => void lines.push(line) } as never);
  expect(rights.note((outcome as { error: unknown }).error, EVICT_PODS)).toBe(true);
  expect(lines).toEqual([
    [
      expect.objectContaining({ verb: 'create', resource: 'pods/eviction', lost: 'no pod is evicted' }),
      'a right is missing, see deploy/components/qos/rbac.yaml; this is not said again',
    ],
  ]);
  expect(podNow()).toBeDefined();
});

test('given an API server that is away, it says so', async () => {
  const { client, server } = await open();
  await server.stop();
  expect(await evictPod(client, pod)).toMatchObject({
    kind: 'failed',
    because: expect.stringContaining('ECONNREFUSED') as unknown,
  });
});
