import { EIGHT_CPUS, NodeDriver, podOf, resourcesOf } from './node-driver';

const containerOf = (name: string) => ({
  id: 'c1',
  sandboxId: 'sandbox-p',
  name,
  phase: 'creating' as const,
  cgroupsPath: '/kubepods/podp/c1',
  resources: resourcesOf(2),
});

test('given long texts, then an assignment has them cut', () => {
  const driver = new NodeDriver(EIGHT_CPUS);
  const pod = { ...podOf('p'), name: 'x'.repeat(1_000_000), namespace: 'y'.repeat(1_000_000) };
  driver.send({ kind: 'create-container', pod, container: containerOf('app') });
  const [assignment] = driver.model.assignments.values();
  expect(assignment).toMatchObject({ podUid: 'p', containerName: 'app', podName: expect.stringMatching(/^x+…$/) });
  expect(JSON.stringify(assignment).length).toBeLessThan(10_000);
});

test('given a container name longer than Kubernetes allows, then the creation is refused, since names can not be cut', () => {
  const driver = new NodeDriver(EIGHT_CPUS);
  driver.send({ kind: 'create-container', pod: podOf('p'), container: containerOf('a'.repeat(254)) });
  expect(driver.answer).toMatchObject({ kind: 'refuse', code: 'INVALID_ARGUMENT' });
  expect(driver.model.assignments.size).toBe(0);
});
