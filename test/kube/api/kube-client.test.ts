import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeClient } from '../../../src/kube/api/kube-client';

let dir: string;
let end: AbortController;
let server: Server | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'client-'));
  end = new AbortController();
});
afterEach(() => {
  end.abort();
  server?.close();
  server?.closeAllConnections();
  rmSync(dir, { recursive: true });
});

const path = (): string => join(dir, 'kubeconfig');

function writeKubeconfig(url: string, token = 'secret'): void {
  writeFileSync(
    path(),
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: { token } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
}

async function serve(answer: RequestListener): Promise<string> {
  server = createServer(answer);
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const clientOf = (): KubeClient => new KubeClient({ kind: 'file', path: path() }, end.signal);
const get = (client = clientOf(), timeoutMs = 60_000): Promise<unknown> =>
  client.send({ method: 'GET', path: '/x', timeoutMs });

test('a call sends the credentials and gives the answer', async () => {
  const seen: unknown[] = [];
  writeKubeconfig(
    await serve(({ headers, url, method }, response) => {
      seen.push([method, url, headers.authorization, headers['user-agent']]);
      response.end('{"a":1}');
    }),
  );
  await expect(clientOf().send({ method: 'GET', path: '/x', query: { fieldSelector: 'a=b&c' } })).resolves.toEqual({
    a: 1,
  });
  expect(seen).toEqual([['GET', '/x?fieldSelector=a%3Db%26c', 'Bearer secret', 'cpusetd']]);
});

describe('connections', () => {
  /** A server that counts its connections; `answer` gets the number of the request on its connection. */
  async function count(answer: (nth: number, ...exchange: Parameters<RequestListener>) => void) {
    const requestsOf = new Map<unknown, number>();
    const url = await serve((request, response) => {
      const nth = (requestsOf.get(request.socket) ?? 0) + 1;
      requestsOf.set(request.socket, nth);
      answer(nth, request, response);
    });
    writeKubeconfig(url);
    return { url, connections: () => requestsOf.size };
  }
  const succeed = (_nth: number, _request: unknown, response: ServerResponse): ServerResponse => response.end('{}');

  test('given 20 calls one after the other, also after the kubeconfig was read again: they share one connection', async () => {
    const { connections } = await count(succeed);
    const client = clientOf();
    for (let nth = 0; nth < 20; nth++) {
      await get(client);
      if (nth % 5 === 0) client.forgetConfig();
    }
    expect(connections()).toBe(1);
  });

  test('given 20 calls at once, and then again: the second 20 open no connection', async () => {
    const { connections } = await count(succeed);
    const client = clientOf();
    const all = (): Promise<unknown> => Promise.all(Array.from({ length: 20 }, () => get(client)));
    await all();
    const before = connections();
    await all();
    expect(before).toBeLessThanOrEqual(20);
    expect(connections()).toBe(before);
  });

  test('given another token: the next call has a connection of its own', async () => {
    const { url, connections } = await count(succeed);
    const client = clientOf();
    await get(client);
    writeKubeconfig(url, 'another');
    client.forgetConfig();
    await get(client);
    expect(connections()).toBe(2);
  });

  test.each([['GET'], ['PUT'], ['PATCH']] as const)(
    'given a server that closes a kept connection when %s uses it: the call is repeated once on a new one',
    async (method) => {
      const { connections } = await count((nth, { socket }, response) =>
        nth === 1 ? void response.end('{}') : void socket.destroy(),
      );
      const client = clientOf();
      await get(client);
      let sent = 0;
      const beforeSend = (): void => {
        sent += 1;
      };
      const call = { method, path: '/x', ...(method !== 'GET' && { body: {} }), beforeSend };
      await expect(client.send(call)).resolves.toEqual({});
      expect({ connections: connections(), sent }).toEqual({ connections: 2, sent: 2 });
    },
  );

  test('given a server that closes a kept connection when POST uses it: the call fails, since it may have been carried out', async () => {
    await count((nth, { socket }, response) => (nth === 1 ? void response.end('{}') : void socket.destroy()));
    const client = clientOf();
    await get(client);
    await expect(client.send({ method: 'POST', path: '/x', body: {} })).rejects.toMatchObject({
      message: expect.stringContaining("can't be reached"),
    });
  });

  test('given beforeSend that throws: nothing is sent', async () => {
    const { connections } = await count(succeed);
    const beforeSend = (): void => {
      throw new Error('too late');
    };
    await expect(clientOf().send({ method: 'GET', path: '/x', beforeSend })).rejects.toThrow('too late');
    expect(connections()).toBe(0);
  });
});

test('the wanted content type and the name of the program are sent', async () => {
  const seen: unknown[] = [];
  writeKubeconfig(
    await serve(({ headers }, response) => {
      seen.push([headers.accept, headers['user-agent']]);
      response.end('{}');
    }),
  );
  const client = new KubeClient({ kind: 'file', path: path() }, end.signal, { userAgent: 'other' });
  await client.send({ method: 'GET', path: '/x', accept: 'application/json;as=Table' });
  await get(client);
  expect(seen).toEqual([
    ['application/json;as=Table', 'other'],
    ['application/json', 'other'],
  ]);
});

test('an address given beside the kubeconfig takes the place of the one in it', async () => {
  writeKubeconfig('http://127.0.0.1:1');
  const url = await serve((_request, response) => response.end('{"a":1}'));
  await expect(get(new KubeClient({ kind: 'file', path: path(), server: url }, end.signal))).resolves.toEqual({ a: 1 });
});

test.each<[string, number, string, object]>([
  [
    'the message of the server is in the error',
    403,
    '{"reason":"Forbidden","message":"pods is forbidden"}',
    { status: 403, reason: 'Forbidden' },
  ],
  [
    'the page of a proxy is not in the error',
    502,
    '<html>secret</html>',
    { status: 502, message: 'the API server answered with status 502' },
  ],
  ['an answer that is no JSON', 200, 'ok', { status: 0, message: expect.stringContaining('not JSON') }],
  ['null for a status', 500, 'null', { status: 500 }],
])('%s', async (_name, status, body, error) => {
  writeKubeconfig(await serve((_request, response) => response.writeHead(status).end(body)));
  await expect(get()).rejects.toMatchObject(error);
});

test("the server's Retry-After is in the error", async () => {
  writeKubeconfig(await serve((_request, response) => response.writeHead(429, { 'retry-after': '7' }).end('{}')));
  await expect(get()).rejects.toMatchObject({ status: 429, retryAfterMs: 7_000 });
});

test.each<[string, RequestListener]>([
  ['it never answers', () => undefined],
  ['it begins and never ends', (_request, response) => response.write('{')],
])('a call to a slow server ends at its timeout: %s', async (_name, answer) => {
  let isFirst = true;
  writeKubeconfig(
    await serve((request, response) => {
      if (!isFirst) return answer(request, response);
      isFirst = false;
      return response.end('{}');
    }),
  );
  const client = clientOf();
  await get(client); // it has read its kubeconfig
  await expect(get(client, 100)).rejects.toMatchObject({
    status: 0,
    message: expect.stringContaining('did not answer in time'),
  });
});

test('an answer without an end is refused at the limit', async () => {
  const chunk = Buffer.alloc(1 << 20, ' ');
  writeKubeconfig(
    await serve((_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
    }),
  );
  await expect(get()).rejects.toMatchObject({ message: expect.stringContaining('longer than') });
});

test('a kubeconfig may be created later, and change', async () => {
  const client = clientOf();
  await expect(get(client)).rejects.toMatchObject({
    message: expect.stringMatching(/can’t be read: .*: no such file \(ENOENT\); check the path of --kubeconfig$/),
  });
  const tokens: unknown[] = [];
  const url = await serve(({ headers }, response) => {
    tokens.push(headers.authorization);
    response.writeHead(headers.authorization === 'Bearer new' ? 200 : 401).end('{}');
  });
  writeKubeconfig(url, 'old');
  await expect(get(client)).rejects.toMatchObject({ status: 401 });
  writeKubeconfig(url, 'new');
  await expect(get(client)).resolves.toEqual({});
  expect(tokens).toEqual(['Bearer old', 'Bearer new']);
});

test('a renewed token file is read again when the server refuses the old token', async () => {
  const tokenFile = join(dir, 'token');
  const tokens: unknown[] = [];
  let valid = 'old';
  const url = await serve(({ headers }, response) => {
    tokens.push(headers.authorization);
    response.writeHead(headers.authorization === `Bearer ${valid}` ? 200 : 401).end('{}');
  });
  writeFileSync(
    path(),
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
      // as the library makes it of a pod's service account
      users: [{ name: 'u', user: { 'auth-provider': { name: 'tokenFile', config: { tokenFile } } } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  const client = clientOf();
  writeFileSync(tokenFile, 'old');
  await expect(get(client)).resolves.toEqual({});
  writeFileSync(tokenFile, 'new');
  await expect(get(client)).resolves.toEqual({}); // the old token is used as long as the server accepts it
  valid = 'new';
  await expect(get(client)).resolves.toEqual({}); // no call is lost
  expect(tokens).toEqual(['Bearer old', 'Bearer old', 'Bearer old', 'Bearer new']);
  valid = 'none';
  await expect(get(client)).rejects.toMatchObject({ status: 401 });
  expect(tokens.slice(4)).toEqual(['Bearer new', 'Bearer new']);
});

test.each([
  ['nothing', ''],
  ['no YAML', '{{{'],
  ['no cluster', '{"current-context":"x"}'],
  [
    'no address',
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: 'nowhere' } }],
      users: [],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  ],
])('a file that is no kubeconfig is named: %s', async (_name, text) => {
  writeFileSync(path(), text);
  await expect(get()).rejects.toMatchObject({ status: 0, message: expect.stringContaining(path()) });
});

test('the end of the daemon ends every call', async () => {
  writeKubeconfig(await serve(() => undefined));
  const call = get(clientOf(), 60_000);
  setTimeout(() => end.abort(), 50);
  await expect(call).rejects.toMatchObject({ status: 0 });
});

describe('a watch', () => {
  const follow = (
    events: unknown[],
    limits = { answerMs: 60_000, lifeMs: 60_000 },
    onOpen: () => void = () => undefined,
  ) =>
    clientOf().watch({
      ...limits,
      path: '/x',
      query: { resourceVersion: '7' },
      onOpen,
      onEvent: (type, object) => events.push([type, object]),
    });
  const lines = Buffer.from(
    ['{"type":"ADDED","object":{"a":"ä"}}', '', 'no event', '{"type":"DELETED","object":{"b":2}}', ''].join('\n'),
  );
  const events = [
    ['ADDED', { a: 'ä' }],
    ['DELETED', { b: 2 }],
  ];

  test('gives each event once wherever its bytes are split, and resolves when the server ends it', async () => {
    let at = 0;
    const urls: unknown[] = [];
    writeKubeconfig(
      await serve(({ url }, response) => {
        urls.push(url);
        response.write(lines.subarray(0, at));
        setImmediate(() => response.end(lines.subarray(at)));
      }),
    );
    for (at = 0; at <= lines.length; at++) {
      const seen: unknown[] = [];
      await follow(seen);
      expect(seen).toEqual(events);
    }
    expect(new Set(urls)).toEqual(new Set(['/x?resourceVersion=7&watch=true']));
  });

  test('rejects with the status of an error that the server sends in it', async () => {
    const error = { type: 'ERROR', object: { kind: 'Status', code: 410, message: 'too old resource version' } };
    writeKubeconfig(await serve((_request, response) => response.write(`${JSON.stringify(error)}\n`)));
    await expect(follow([])).rejects.toMatchObject({ status: 410, message: expect.stringContaining('too old') });
  });

  test('is ended when the server sends nothing more, or dies', async () => {
    let opened = 0;
    const open = (): void => {
      opened++;
    };
    writeKubeconfig(await serve((_request, response) => response.flushHeaders()));
    const silent = follow([], { answerMs: 60_000, lifeMs: 100 }, open);
    await expect(silent).rejects.toMatchObject({ message: expect.stringContaining('did not answer in time') });
    const cut = follow([], undefined, () => (open(), server!.closeAllConnections()));
    await expect(cut).rejects.toMatchObject({ status: 0, message: expect.stringContaining("can't be reached") });
    expect(opened).toBe(2);
  });

  test('that is never answered is ended at its timeout', async () => {
    writeKubeconfig(await serve(() => undefined));
    const limits = { answerMs: 100, lifeMs: 60_000 };
    await expect(follow([], limits)).rejects.toMatchObject({ message: expect.stringContaining('in time') });
  });
});
