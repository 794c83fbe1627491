import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { answerText, type HttpServer, startHttpServer } from '../../src/net/http-server';
import { TlsFiles } from '../../src/net/tls-files';
import { waitUntil } from '../support/wait-until';

const fixtures = join(__dirname, '../fixtures/tls');
const pem = (file: string): Buffer => readFileSync(join(fixtures, file));
const ca = pem('ca.crt');
const client = { cert: pem('client.crt'), key: pem('client.key') };

interface Warning {
  readonly because?: string;
  readonly message: string;
}

let folder: string;
let warnings: Warning[];
let server: HttpServer | undefined;
const log = {
  warn: (fields: object, message: string) => void warnings.push({ ...fields, message }),
  error: (fields: object, message: string) => void warnings.push({ ...fields, message }),
};
const paths = () => ({ certificate: join(folder, 'tls.crt'), key: join(folder, 'tls.key') });

/** Gives the files the content of a fixture. */
function install(name: string): void {
  copyFileSync(join(fixtures, `${name}.key`), paths().key);
  copyFileSync(join(fixtures, `${name}.crt`), paths().certificate);
}

async function start({ clientCa = false } = {}): Promise<HttpServer> {
  const tls = { ...paths(), ...(clientCa && { clientCa: join(fixtures, 'ca.crt') }) };
  const routes = [
    { method: 'GET' as const, path: '/secret', handle: () => answerText('the answer') },
    { method: 'GET' as const, path: '/healthz', isPublic: true, handle: () => answerText('ok') },
  ];
  return (server = await startHttpServer({ address: { host: '127.0.0.1', port: 0 }, routes, tls, log }));
}

/** Status, text, and the name in the server's certificate; each request has a connection of its own. */
function ask(path: string, options: RequestOptions = {}): Promise<{ status: number; text: string; name: string }> {
  return new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port: server!.port, path, ca, agent: false, ...options }, (response) => {
      if (!(response.socket instanceof TLSSocket)) throw new Error('no TLS');
      const name = String(response.socket.getPeerCertificate().subject.CN);
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.once('end', () => resolve({ status: response.statusCode!, text, name }));
    });
    call.once('error', reject).end();
  });
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tls-files-'));
  warnings = [];
  install('server');
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  rmSync(folder, { recursive: true });
});

test('given a certificate and its key: clients that trust the authority are answered', async () => {
  await start();
  expect(await ask('/secret')).toEqual({ status: 200, text: 'the answer\n', name: 'first server' });
  await expect(ask('/secret', { ca: [] })).rejects.toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
});

test('given a client that knows no newer protocol than TLS 1.1: it is not answered', async () => {
  await start();
  await expect(ask('/secret', { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' })).rejects.toThrow();
});

test.each([
  ['no certificate', {}, 401],
  ['a certificate of another authority', { cert: pem('stranger.crt'), key: pem('stranger.key') }, 401],
  ['a certificate of the authority', client, 200],
])('given an authority for clients, and %s: %d for routes, and an answer at public ones', async (_name, credentials, status) => {
  await start({ clientCa: true });
  expect((await ask('/secret', credentials)).status).toBe(status);
  expect(await ask('/healthz', credentials)).toMatchObject({ status: 200, text: 'ok\n' });
}); // prettier-ignore

test('given files that change: new connections get the new certificate; given a broken file: the last good one', async () => {
  await start();
  install('server-renewed');
  await waitUntil('the new certificate', async () => (await ask('/secret')).name === 'renewed server');
  writeFileSync(paths().certificate, 'no certificate');
  await waitUntil('the problem in the log', () => warnings.some(({ message }) => message.includes('can’t be used')));
  expect(warnings.at(-1)?.because).toContain(paths().certificate);
  expect((await ask('/secret')).name).toBe('renewed server');
});

test.each([
  ['a file that is missing', () => rmSync(paths().key), /tls\.key can't be read: ENOENT/],
  ['a key of another certificate', () => copyFileSync(join(fixtures, 'client.key'), paths().key), /are no certificate and its key/],
  ['a file that is no certificate', () => writeFileSync(paths().certificate, 'x'), /are no certificate and its key/],
])('given %s: an error that names it', (_name, spoil, message) => {
  spoil();
  expect(() => new TlsFiles(paths(), log).read()).toThrow(message);
}); // prettier-ignore

describe('a TLS 1.3 session that is resumed', () => {
  /** Asks twice, the second time with the session of the first connection. */
  async function askTwice(more: RequestOptions): Promise<{ readonly statuses: number[]; readonly isReused: boolean }> {
    const agent = new Agent({ keepAlive: false, maxCachedSessions: 1 });
    const once = (path: string): Promise<{ status: number; isReused: boolean }> =>
      new Promise((resolve, reject) => {
        const options = { host: '127.0.0.1', port: server!.port, path, ca, agent, ...more };
        const call = request(options, (response) => {
          const isReused = response.socket instanceof TLSSocket && response.socket.isSessionReused();
          response.resume().once('end', () => resolve({ status: response.statusCode!, isReused }));
        });
        call.once('error', reject).end();
      });
    const [first, second] = [await once('/healthz'), await once('/secret')];
    agent.destroy();
    return { statuses: [first.status, second.status], isReused: second.isReused };
  }

  test('of a client without a certificate is not authorized', async () => {
    await start({ clientCa: true });
    expect(await askTwice({})).toEqual({ statuses: [200, 401], isReused: true });
  });

  test('of a client with a certificate of another authority is not', async () => {
    await start({ clientCa: true });
    const stranger = { cert: pem('stranger.crt'), key: pem('stranger.key') };
    expect(await askTwice(stranger)).toEqual({ statuses: [200, 401], isReused: true });
  });

  test('of a client with one is', async () => {
    await start({ clientCa: true });
    expect(await askTwice(client)).toEqual({ statuses: [200, 200], isReused: true });
  });
});
