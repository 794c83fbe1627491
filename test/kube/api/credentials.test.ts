import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Credentials } from '../../../src/kube/api/credentials';
import { KubeClient } from '../../../src/kube/api/kube-client';
import { slowness, waitUntil } from '../../support/wait-until';

// With any file or program in the kubeconfig a call ends in time with an error that names it, and the daemon's thread
// is not blocked.

let dir: string;
let end: AbortController;
let server: Server | undefined;
let seen: (string | undefined)[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'creds-'));
  end = new AbortController();
  seen = [];
});
afterEach(() => {
  end.abort();
  server?.close();
  server?.closeAllConnections();
  server = undefined;
  rmSync(dir, { recursive: true });
});

const at = (name: string): string => join(dir, name);

/** Writes a shell script with this text. */
function script(text: string, name = 'plugin'): string {
  writeFileSync(at(name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return at(name);
}

const credential = (status: object): string => JSON.stringify({ kind: 'ExecCredential', status });

/** A client of a server that records the credentials of each call, and answers 401 to invalid tokens. */
async function clientFor(
  user: object,
  { cluster = {}, isGood = () => true }: { cluster?: object; isGood?: (token?: string) => boolean } = {},
): Promise<KubeClient> {
  server = createServer(({ headers }, response) => {
    seen.push(headers.authorization);
    response.writeHead(isGood(headers.authorization) ? 200 : 401).end('{}');
  });
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(
    at('kubeconfig'),
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: url, 'insecure-skip-tls-verify': true, ...cluster } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  return new KubeClient({ kind: 'file', path: at('kubeconfig') }, end.signal);
}
const get = (client: KubeClient, timeoutMs = 60_000): Promise<unknown> =>
  client.send({ method: 'GET', path: '/x', timeoutMs: timeoutMs * slowness() });
const exec = (command: string, more: object = {}): object => ({ exec: { apiVersion: 'v1', command, ...more } });

describe('a credential plugin that hangs', () => {
  test('ends the call at its timeout with the name of the plugin; the thread is not blocked, and the end of the daemon ends the plugin', async () => {
    const command = script(`echo $$ > ${at('pid')}; sleep 1000 & wait`);
    const client = await clientFor(exec(command));
    let ticks = 0;
    const timer = setInterval(() => ticks++, 10);
    await expect(get(client, 400)).rejects.toMatchObject({
      status: 0,
      message: `the credentials for the API server can't be had: the answer of the credential plugin ${command} did not come in time`,
    });
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(3);
    await waitUntil('the plugin to start', () => existsSync(at('pid')) && readFileSync(at('pid'), 'utf8') !== '');
    const pid = Number(readFileSync(at('pid'), 'utf8'));
    end.abort();
    await waitUntil('the plugin to end', () => !isAlive(pid));
  });

  test('is killed at its timeout, with its child processes', async () => {
    const command = script(`sleep 1000 & echo "$$ $!" > ${at('pids')}; wait`);
    const credentials = new Credentials({
      user: { exec: { command } },
      cluster: {},
      folder: dir,
      timeoutMs: 3_000 * slowness(),
      signal: end.signal,
    });
    await expect(credentials.get()).rejects.toThrow(command);
    const pids = readFileSync(at('pids'), 'utf8').trim().split(' ').map(Number);
    expect(pids).toHaveLength(2);
    for (const pid of pids) await waitUntil('the plugin and its child to end', () => !isAlive(pid));
  });

  test('whose child process keeps its output open is ended too', async () => {
    const command = script('sleep 1000 & exit 0');
    await expect(get(await clientFor(exec(command)), 200)).rejects.toThrow(command);
  });
});

/** True while the process runs; a zombie counts as ended. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

test.each([
  ['fails', () => exec(script('echo "no ticket" >&2; exit 3')), /plugin .*plugin ended with 3: no ticket/],
  ['is killed', () => exec(script('kill -9 $$')), /ended with SIGKILL: it said nothing/],
  ['is missing', () => exec('/nowhere', { installHint: 'get it' }), /plugin \/nowhere can't be run \(ENOENT\): get it/],
  ['is a folder', () => exec(dir), /can't be run \(EACCES\)/],
  ['has no name', () => exec(''), /the credential plugin has no command/],
  ['prints nothing', () => exec(script(':')), /printed no ExecCredential/],
  ['prints no JSON', () => exec(script('echo hello')), /printed no ExecCredential/],
  ['prints no token', () => exec(script(`echo '${credential({})}'`)), /printed no ExecCredential/],
  ['prints without an end', () => exec(script('exec yes')), /printed more than 1 MiB/],
  ['wants a terminal', () => exec('/bin/true', { interactiveMode: 'Always' }), /wants a terminal .* a daemon has none/],
  [
    'is of gcp',
    () => ({ 'auth-provider': { name: 'gcp', config: { 'cmd-path': 'x' } } }),
    /auth-provider gcp is not sup/,
  ],
  [
    'is of azure',
    () => ({ 'auth-provider': { name: 'azure', config: {} } }),
    /auth-provider azure is not supported; use/,
  ],
])('given a credential plugin that %s, the error names it', async (_what, user, message) => {
  await expect(get(await clientFor(user()))).rejects.toMatchObject({
    status: 0,
    message: expect.stringMatching(message),
  });
  expect(seen).toEqual([]);
});

test('a plugin gets an ExecCredential and no input, and its credential is used until it is refused', async () => {
  const command = script(
    `cat; echo "$KUBERNETES_EXEC_INFO $EXTRA $1" >> ${at('runs')}; echo '${credential({ token: 'TOKEN' })}' | sed "s/TOKEN/t$(wc -l < ${at('runs')})/"`,
  );
  const plugin = exec('./plugin', { args: ['arg'], env: [{ name: 'EXTRA', value: 'extra' }] });
  const client = await clientFor(plugin, { isGood: (token = '') => seen.length < 3 || token === 'Bearer t2' });
  expect(command).toBe(at('plugin'));
  await Promise.all([get(client), get(client)]); // one token was requested
  await get(client);
  expect(seen).toEqual(['Bearer t1', 'Bearer t1', 'Bearer t1', 'Bearer t2']);
  const info = JSON.stringify({ apiVersion: 'v1', kind: 'ExecCredential', spec: { interactive: false } });
  expect(readFileSync(at('runs'), 'utf8')).toBe(`${info} extra arg\n`.repeat(2));
});

test('an expired credential is requested from the plugin again', async () => {
  const token = credential({ token: 't', expirationTimestamp: '2001-01-01T00:00:00Z' });
  const client = await clientFor(exec(script(`echo >> ${at('runs')}; echo '${token}'`)));
  await get(client);
  await get(client);
  expect(readFileSync(at('runs'), 'utf8')).toBe('\n\n');
});

const fifo = (path: string): void => void execFileSync('mkfifo', [path]);
const endless = (path: string): void => symlinkSync('/dev/zero', path);

describe.each([
  ['a pipe without a writer', fifo],
  ['a device without an end', endless],
])('%s is not waited for', (_what, put) => {
  test.each([
    ['client-certificate', (path: string) => [{ 'client-certificate': path, token: 't' }, {}]],
    ['client-key', (path: string) => [{ 'client-key': path }, {}]],
    ['certificate-authority', (path: string) => [{}, { 'certificate-authority': path }]],
    ['tokenFile', (path: string) => [{ tokenFile: path }, {}]],
    ['auth-provider', (path: string) => [{ 'auth-provider': { name: 'x', config: { tokenFile: path } } }, {}]],
  ])('as %s', async (_key, make) => {
    put(at('odd'));
    const [user, cluster] = make(at('odd')) as [object, object];
    await expect(get(await clientFor(user, { cluster }))).rejects.toMatchObject({
      status: 0,
      message: `the credentials for the API server can't be had: ${at('odd')} can't be read: it is not a regular file`,
    });
  });

  test('as the kubeconfig', async () => {
    put(at('kubeconfig'));
    await expect(get(new KubeClient({ kind: 'file', path: at('kubeconfig') }, end.signal))).rejects.toMatchObject({
      message: `the kubeconfig can’t be read: ${at('kubeconfig')}: it is not a regular file; check the path of --kubeconfig`,
    });
  });

  test('as a key that the library reads by itself', async () => {
    put(at('odd'));
    await get(await clientFor({ 'token-file': at('odd'), token: 't' }));
    expect(seen).toEqual(['Bearer t']);
  });
});

test('a token file is used, also by a path beside the kubeconfig', async () => {
  writeFileSync(at('token'), 'from-file\n');
  await get(await clientFor({ tokenFile: 'token', token: 'other' }));
  expect(seen).toEqual(['Bearer from-file']);
});

test('credentials that fail end a watch, and not the daemon', async () => {
  const client = await clientFor(exec(script('exit 1')));
  const watch = { path: '/x', query: {}, answerMs: 60_000, lifeMs: 1_000 };
  const ended = client.watch({ ...watch, onOpen: () => undefined, onEvent: () => undefined });
  await expect(ended).rejects.toMatchObject({ message: expect.stringContaining('ended with 1') });
});
