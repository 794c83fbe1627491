import { DURATION, parseDurationMs } from '../core/duration';
import { MAX_SOCKET_PATH_BYTES } from '../net/connect-unix';
import type { HostPort } from '../net/host-port';
import { accept, reject, textOf, type ValueType } from './value-type';

const HOUR_MS = 3_600_000;

/** A duration as in Go and in the kubelet's configuration (`10s`, `1m30s`, `500ms`), in ms, from `minMs` to `maxMs`. */
export function durationMs({ minMs, maxMs }: { readonly minMs: number; readonly maxMs: number }): ValueType<number> {
  return {
    placeholder: 'duration',
    parse: (text) => {
      const sumMs = parseDurationMs(text);
      if (sumMs === undefined) return reject('is not a duration', 'write it like 10s, 1m30s or 500ms');
      if (sumMs < minMs) return reject('is too short', `the shortest is ${minMs}ms`);
      if (sumMs > maxMs) return reject('is too long', `the longest is ${maxMs / HOUR_MS}h`);
      return accept(sumMs);
    },
    inFile: (z) => textOf(z, DURATION),
  };
}

const UNITS_BYTES: Readonly<Record<string, number>> = { Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3 };

const BYTES = /^(\d{1,9})(Ki|Mi|Gi)$/;

/** A number of bytes as a Kubernetes quantity with a binary unit (`32Mi`), from `minBytes` to `maxBytes`. */
export function byteQuantity({
  minBytes,
  maxBytes,
}: {
  readonly minBytes: number;
  readonly maxBytes: number;
}): ValueType<number> {
  return {
    placeholder: 'size',
    parse: (text) => {
      const [, amount, unit] = BYTES.exec(text) ?? [];
      if (amount === undefined) return reject('is not a size', 'write it like 32Mi or 1Gi');
      const bytes = Number(amount) * UNITS_BYTES[unit!]!;
      if (bytes < minBytes) return reject('is too small', `the smallest is ${minBytes / 1024}Ki`);
      if (bytes > maxBytes) return reject('is too large', `the largest is ${maxBytes / 1024 ** 3}Gi`);
      return accept(bytes);
    },
    inFile: (z) => textOf(z, BYTES),
  };
}

/** An absolute path; a final slash is dropped. */
export const absolutePath: ValueType<string> = {
  placeholder: 'path',
  parse: (text) => {
    if (!text.startsWith('/')) return reject('is not an absolute path', 'let it begin with /');
    if (/\p{Cc}/u.test(text)) return reject('has a control character', 'remove it');
    return accept(text.length > 1 ? text.replace(/\/+$/, '') || '/' : text);
  },
  inFile: (z) => textOf(z, /^\//),
};

/** The path of a unix socket, also as `unix:///path`. */
export const socketPath: ValueType<string> = {
  placeholder: 'socket',
  parse: (text) => {
    const path = absolutePath.parse(text.replace(/^unix:\/\/(?=\/)/, ''));
    if (!path.ok) return reject(path.problem, 'write the absolute path of a unix socket');
    return Buffer.byteLength(path.value) <= MAX_SOCKET_PATH_BYTES
      ? path
      : reject('is too long for a socket', `use a path of at most ${MAX_SOCKET_PATH_BYTES} bytes`);
  },
  inFile: (z) => textOf(z, /^(?:unix:\/\/)?\//),
};

/**
 * A listening address: the path of a socket to make, or `fd:3`, the number of a listening socket that was handed over.
 */
export const listenSocket: ValueType<{ readonly path: string } | { readonly fd: number }> = {
  placeholder: 'socket|fd:n',
  parse: (text) => {
    const [, number] = /^fd:(\d{1,4})$/.exec(text) ?? [];
    if (number !== undefined) {
      return Number(number) > 2 ? accept({ fd: Number(number) }) : reject('is in use', 'numbers begin with fd:3');
    }
    const path = socketPath.parse(text);
    return path.ok
      ? accept({ path: path.value })
      : reject(path.problem, 'write the absolute path of a socket, or fd:3');
  },
  inFile: (z) => textOf(z, /^(?:(?:unix:\/\/)?\/|fd:\d{1,4}$)/),
};

/** A listening address: `127.0.0.1:14709`, `[::1]:14709`, `localhost:14709`; the host must be named. */
export const hostPort: ValueType<HostPort> = {
  placeholder: 'host:port',
  parse: (text) => {
    const remedy = 'write it like 127.0.0.1:14709 or [::1]:14709';
    const [, v6, name, port] = /^(?:\[([0-9A-Fa-f:.%\w]+)\]|([\w.-]+)):(\d{1,5})$/.exec(text) ?? [];
    const host = v6 ?? name;
    if (host === undefined) return reject('is not an address with a port', remedy);
    if (Number(port) > 65_535) return reject('has a port above 65535', remedy);
    return accept({ host, port: Number(port) });
  },
  inFile: (z) => textOf(z, /^(?:\[[0-9A-Fa-f:.%\w]+\]|[\w.-]+):\d{1,5}$/),
};

/**
 * The same, where the host may be left out and then is this machine's own: `14710` or `:14710` is `127.0.0.1:14710`.
 */
export const localHostPort: ValueType<HostPort> = {
  placeholder: '[host:]port',
  parse: (text) => {
    const [, port] = /^:?(\d{1,5})$/.exec(text) ?? [];
    const parsed = hostPort.parse(port === undefined ? text : `127.0.0.1:${port}`);
    return parsed.ok || parsed.problem !== 'is not an address with a port'
      ? parsed
      : reject(parsed.problem, 'write it like 14710, which only this machine reaches, or 192.0.2.7:14710');
  },
  inFile: (z) => textOf(z, /^(?:(?:\[[0-9A-Fa-f:.%\w]+\]|[\w.-]+)?:)?\d{1,5}$/),
};

const MAX_HOST_NAMES = 32;

/** Host names or addresses as they stand in a Host header, without ports. */
export const hostNames: ValueType<readonly string[]> = {
  placeholder: 'name,name',
  parse: (text) => {
    const names = text.split(',').map((name) => name.trim());
    if (text === '') return accept([]);
    if (names.length > MAX_HOST_NAMES) return reject('has too many names', `write at most ${MAX_HOST_NAMES}`);
    const isName = (name: string): boolean =>
      /^(?=.{1,253}$)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(name) ||
      /^[0-9A-Fa-f:]*:[0-9A-Fa-f:.]+$/.test(name);
    return names.every(isName)
      ? accept(names.map((name) => name.toLowerCase()))
      : reject('is not a list of host names', 'write names without ports, with commas between');
  },
};
