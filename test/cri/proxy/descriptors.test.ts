import { buildSync } from 'esbuild';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { CriProxy } from '../../../src/cri/proxy';
import { Bench, type Handler } from './harness';
import { callDeadline, waitUntil } from '../../support/wait-until';
import { connectRaw, opening, requestHead, requestMessage } from './raw-client';

// A proxy in a process of its own, which may open only a few files.

const quick = '/runtime.v1.RuntimeService/Version';
const echo: Handler = (call) => {
  call.on('data', (message: Buffer) => call.write(message));
  call.on('end', () => call.end());
};

const program = (proxyModule: string, listen: string, runtime: string): string => `
  const { CriProxy, UpstreamMonitor } = require(${JSON.stringify(proxyModule)});
  const { openSync, closeSync, readdirSync } = require('node:fs');
  const faults = [], changes = [];
  let hoard = [];
  const upstream = new UpstreamMonitor(${JSON.stringify(runtime)});
  upstream.subscribe((isUp) => changes.push(isUp));
  CriProxy.open({
    listen: { path: ${JSON.stringify(listen)} },
    upstream,
    interceptors: new Map(),
    endlessPaths: [],
    reportFault: ({ what }) => faults.push(what),
  }).then((proxy) => {
    process.on('message', (order) => {
      if (order === 'hoard') try { for (;;) hoard.push(openSync('/dev/null')); } catch {}
      if (order === 'release') hoard.splice(0).forEach((fd) => closeSync(fd));
      process.send({ stats: proxy.stats, faults, changes, cpu: process.cpuUsage() });
    });
    process.send('ready');
  });
`;

interface Report {
  readonly stats: CriProxy['stats'];
  readonly faults: readonly string[];
  readonly changes: readonly boolean[];
  readonly cpu: NodeJS.CpuUsage;
}

let bench: Bench;
let child: ChildProcess;
beforeEach(async () => {
  bench = new Bench();
  await bench.startRuntime({ [quick]: echo });
  const proxyModule = join(bench.folder, 'proxy.js');
  buildSync({ entryPoints: ['src/cri/proxy/index.ts'], bundle: true, platform: 'node', outfile: proxyModule });
  const shell = 'ulimit -n 100; exec "$0" -e "$1"';
  const args = ['-c', shell, process.execPath, program(proxyModule, bench.proxyPath, bench.runtimePath)];
  child = spawn('/bin/sh', args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  await once(child, 'message');
});
afterEach(async () => {
  if (child.exitCode === null) {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
  await bench.close();
});

async function ask(order: 'report' | 'hoard' | 'release'): Promise<Report> {
  child.send(order);
  const [report] = (await once(child, 'message')) as [Report];
  return report;
}

async function callOnce(client = bench.client()): Promise<number> {
  return (await client.run(quick, [Buffer.from('x')], undefined, { deadline: callDeadline() })).code;
}

test('with 100 descriptors 25 connections are held at a time, and a working client beside 500 others loses no call', async () => {
  const worker = bench.client();
  const codes: number[] = [];
  for (let n = 0; n < 50; n++) {
    const others = Array.from({ length: 10 }, () => connectRaw(bench.proxyPath));
    for (const { socket } of others) bench.onClose(() => socket.destroy());
    codes.push(await callOnce(worker));
  }
  expect(codes.filter((code) => code !== 0)).toEqual([]);
  const { stats, faults } = await ask('report');
  expect(stats.connections).toBeLessThanOrEqual(25);
  expect(faults).toEqual([expect.stringMatching(/^25 connections are open, for each new one/)]);
});

test('while no descriptor is left, the CPU is idle, the runtime does not count as away, and calls in flight go on', async () => {
  const worker = bench.client();
  expect(await callOnce(worker)).toBe(0);
  const before = await ask('hoard');
  const refused = Array.from({ length: 20 }, () => connectRaw(bench.proxyPath));
  for (let n = 0; n < 20; n++) expect(await callOnce(worker)).toBe(0);
  await Promise.all(refused.map(({ closed }) => closed));
  await new Promise((resolve) => setTimeout(resolve, 1_000)); // a busy loop of failed accepts would show in this second
  const after = await ask('report');
  const cpuMs = (after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system) / 1000;
  expect(cpuMs).toBeLessThan(500);
  expect(after.changes).toEqual([true]);
  await ask('release');
  expect(await callOnce()).toBe(0);
});

test('a client that was accepted with the last descriptor waits until the runtime can be reached', async () => {
  const worker = bench.client();
  expect(await callOnce(worker)).toBe(0);
  const accepted = connectRaw(bench.proxyPath);
  bench.onClose(() => accepted.socket.destroy());
  for (;;) if ((await ask('report')).stats.connections === 2) break;
  await ask('hoard');
  accepted.socket.write(Buffer.concat([opening, requestHead(1, quick), requestMessage(1, Buffer.from('x'))]));
  for (let n = 0; n < 5; n++) await ask('report');
  await ask('release');
  await waitUntil(() => accepted.hasEnded(1));
  const { changes } = await ask('report');
  expect(changes).toEqual([true]);
});
