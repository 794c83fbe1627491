import { parse } from 'yaml';
import { sampleLent, sampleQos, sampleStatus, sampleUsage } from '../../admin/sample-status';
import { withAdminRig } from '../../admin/with-admin-server';
import { runInProcess as cpusetd } from '../../support/run-cli';
import { waitUntil } from '../../support/wait-until';

const asData = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('qos prints use, rules and what is lent, as text and as data', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const run = (...args: string[]) => cpusetd(['qos', ...args, '--admin-socket', socketPath]);
    expect(await run()).toMatchObject({
      status: 0,
      stderr: '',
      stdout: expect.stringContaining('default/web  app        2-3    0.75 CPUs'),
    });
    const data = asData({ usage: sampleUsage, qos: sampleQos, lent: sampleLent });
    expect(JSON.parse((await run('-o', 'json')).stdout)).toEqual(data);
    expect(parse((await run('-o', 'yaml')).stdout)).toEqual(data);
  });
});

test('given a daemon that measures nothing: exit 0, the text says so, and the data are empty', async () => {
  await withAdminRig(async ({ start, backend, socketPath }) => {
    const { usage: _usage, qos: _qos, lent: _lent, ...node } = sampleStatus.node;
    backend.current = { ...sampleStatus, node };
    await start();
    const run = (...args: string[]) => cpusetd(['qos', ...args, '--admin-socket', socketPath]);
    expect(await run()).toMatchObject({ status: 0, stdout: expect.stringContaining('not measured: collect-interval') });
    expect(JSON.parse((await run('-o', 'json')).stdout)).toEqual({});
  });
});

test('--watch prints one document for each reading, none for changes of containers, and exits with 0 on a signal', async () => {
  await withAdminRig(async ({ start, backend, socketPath }) => {
    await start();
    const stop = new AbortController();
    let printed = '';
    const onPrinted = (text: string): void => void (printed += text);
    const lines = (): { usage: { at: string } }[] =>
      printed
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { usage: { at: string } });
    const args = ['qos', '--watch', '-o', 'json', '--admin-socket', socketPath];
    const ended = cpusetd(args, { signal: stop.signal, onPrinted });
    await waitUntil(() => lines().length === 1);
    backend.emit({ kind: 'container', container: sampleStatus.containers[0]! });
    backend.emit({ kind: 'node', node: sampleStatus.node });
    const next = '2026-11-21T10:00:10.000Z';
    backend.emit({ kind: 'node', node: { ...sampleStatus.node, usage: { ...sampleUsage, at: next } } });
    await waitUntil(() => lines().length > 1);
    expect(lines().map(({ usage }) => usage.at)).toEqual([sampleUsage.at, next]);
    stop.abort();
    expect((await ended).status).toBe(0);
  });
});
