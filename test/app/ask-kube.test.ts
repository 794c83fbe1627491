import { pino } from 'pino';
import { KubeletAsker } from '../../src/app/ask-kube';
import { KubeError, type KubeClient, type KubeletConfig } from '../../src/kube';

function asking() {
  const lines: string[] = [];
  const log = pino(
    { level: 'debug', base: null, timestamp: false, formatters: { level: (level) => ({ level }) } },
    {
      write: (line) => {
        const { level, msg, because } = JSON.parse(line) as Record<string, string>;
        lines.push(because === undefined ? `${level!}: ${msg!}` : `${level!}: ${because}`);
      },
    },
  );
  const stop = new AbortController();
  const kubelet = { answer: (): unknown => ({}), onConfig: (): void => undefined };
  const found: KubeletConfig[] = [];
  const asker = new KubeletAsker({
    client: { send: () => Promise.resolve().then(() => kubelet.answer()) } as unknown as KubeClient,
    nodeName: 'here',
    log,
    signal: stop.signal,
    onKubeletConfig: (config) => {
      found.push(config);
      kubelet.onConfig();
    },
  });
  return { asker, kubelet, lines, found, stop };
}
const refuse = () => {
  throw new KubeError('nodes "here" is forbidden: add the right nodes/proxy', 403);
};

test('a kubelet that can’t be asked is a warning once, until it has answered', async () => {
  const { asker, kubelet, lines, found } = asking();
  kubelet.answer = refuse;
  await asker.ask();
  await asker.ask();
  kubelet.answer = () => ({ kubeletconfig: { cpuManagerPolicy: 'none', reservedSystemCPUs: '0' } });
  await asker.ask();
  kubelet.answer = refuse;
  await asker.ask();
  expect(lines.map((line) => line.replace(/forbidden.*/, 'forbidden'))).toEqual([
    'warn: nodes "here" is forbidden',
    'debug: nodes "here" is forbidden',
    'warn: nodes "here" is forbidden',
  ]);
  expect(found).toEqual([{ cpuManagerPolicy: 'none', reservedSystemCpus: '0', reservedMilliCpu: 0 }]);
});

test('an answer that is something else is told as that', async () => {
  const { asker, kubelet, lines, found } = asking();
  kubelet.answer = () => ({ kind: 'Pod' });
  await asker.ask();
  expect([lines, found]).toEqual([['warn: the kubelet answered with something that is not its configuration'], []]);
});

test('a fault of our own in taking it over is told as that, and it is asked again', async () => {
  const { asker, kubelet, lines, found } = asking();
  kubelet.answer = () => ({ kubeletconfig: {} });
  kubelet.onConfig = () => {
    throw new TypeError('x is undefined');
  };
  await asker.ask();
  await asker.ask();
  expect(lines).toEqual(Array(2).fill('error: a fault in taking over the kubelet’s configuration'));
  expect(found).toHaveLength(2);
});

test('what our own end cancels is not told', async () => {
  const { asker, kubelet, lines, stop } = asking();
  kubelet.answer = refuse;
  stop.abort();
  await asker.ask();
  expect(lines).toEqual([]);
});
