import pino from 'pino';
import { askKubelet } from '../../../src/kube/api/read-node';
import { KubeError, type KubeletConfig } from '../../../src/kube';

type Line = { readonly level: number; readonly because?: string; readonly verb?: string };

async function ask(answers: readonly unknown[]) {
  const lines: Line[] = [];
  const received: KubeletConfig[] = [];
  const left = [...answers];
  const once = askKubelet({
    client: {
      send: () => {
        const answer = left.shift();
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      },
    },
    nodeName: 'n1',
    log: pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line) as Line) }),
    onKubeletConfig: (config) => received.push(config),
  });
  const pausesMs: number[] = [];
  for (const _answer of answers) pausesMs.push(await once());
  return { lines, heard: received, pausesMs };
}

const configz = (fields: object) => ({ kubeletconfig: fields });

test('the configuration is reported each time that it is read', async () => {
  const { lines, heard: received } = await ask([configz({ cpuManagerPolicy: 'static' }), configz({})]);
  expect(received.map(({ cpuManagerPolicy }) => cpuManagerPolicy)).toEqual(['static', 'none']);
  expect(lines).toEqual([]);
});

test('a missing right is one line at info, whatever comes in between', async () => {
  const denied = new KubeError('forbidden', 403);
  const { lines } = await ask([denied, denied, new KubeError('no answer', 0), denied, configz({}), denied]);
  expect(lines).toEqual([
    expect.objectContaining({
      level: 30,
      verb: 'get',
      resource: 'nodes/proxy',
      lost: expect.stringContaining('the reservation of the kubelet') as string,
    }),
  ]);
});

test('a configuration that no kubelet has is logged at warn, once while it is the same', async () => {
  const wrong = configz({ kubeReserved: { gpu: '1' } });
  const { lines, heard: received } = await ask([wrong, wrong, { kind: 'Pod' }, wrong]);
  expect(received).toEqual([]);
  expect(lines.map(({ level, because }) => [level, because])).toEqual([
    [40, 'kubeReserved names "gpu"; the kubelet reserves only cpu, memory, ephemeral-storage, pid'],
    [40, 'the kubelet answered with something that is not its configuration'],
    [40, 'kubeReserved names "gpu"; the kubelet reserves only cpu, memory, ephemeral-storage, pid'],
  ]);
});

test('after a failure the next question comes soon, then ever later, and after an answer in five minutes', async () => {
  const down = new KubeError('no answer', 503);
  const { pausesMs } = await ask([down, down, down, configz({}), down, new KubeError('forbidden', 403)]);
  const seconds = pausesMs.map((ms) => Math.round(ms / 1_000));
  expect(seconds[0]).toBeLessThanOrEqual(1);
  expect(pausesMs[2]).toBeGreaterThan(pausesMs[0]!);
  expect([seconds[3], seconds[5]]).toEqual([300, 300]);
  expect(seconds[4]).toBeLessThanOrEqual(1);
});
