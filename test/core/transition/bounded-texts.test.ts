import { EIGHT_CPUS, NodeDriver, podOf, resourcesOf } from './node-driver';

const containerOf = (name: string) => ({
  id: 'c1',
  sandboxId: 'sandbox-p',
  name,
  phase: 'creating' as const,
  cgroupsPath: '/kubepods/podp/c1',
  resources: resourcesOf(2),
});

test('texts that are kept with an assignment are cut', () => {
  const driver = new NodeDriver(EIGHT_CPUS);
  const pod = { ...podOf('p'), name: 'x'.repeat(1_000_000), namespace: 'y'.repeat(1_000_000) };
  driver.send({ kind: 'create-container', pod, container: containerOf('app') });
  const [assignment] = driver.model.assignments.values();
  expect(assignment).toMatchObject({ podUid: 'p', containerName: 'app', podName: expect.stringMatching(/^x+…$/) });
  expect(JSON.stringify(assignment).length).toBeLessThan(10_000);
});

test('a container whose name no Kubernetes would allow gets no CPUs of its own, since names can not be cut', () => {
  const driver = new NodeDriver(EIGHT_CPUS);
  driver.send({ kind: 'create-container', pod: podOf('p'), container: containerOf('a'.repeat(254)) });
  expect(driver.answer).toMatchObject({ kind: 'refuse', code: 'INVALID_ARGUMENT' });
  expect(driver.model.assignments.size).toBe(0);
});
