import { isIP } from 'node:net';

/**
 * Tells whether a Host header names this server: `localhost`, the address on which the connection came in, or one of
 * `names`. A page of somebody else whose name leads to our address (DNS rebinding) has its own name there. The port is
 * not looked at: a forwarded one is another.
 */
export function acceptHosts(names: readonly string[]): (host: string, arrivedAt: string | undefined) => boolean {
  const known = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);
  return (header, arrivedAt) => {
    const host = hostIn(header);
    if (host === undefined) return false;
    return known.has(host) || (isIP(host) !== 0 && host === plainAddress(arrivedAt ?? ''));
  };
}

/** The host in `host:port`, without the brackets of an IPv6 address; undefined when it is not of that form. */
function hostIn(header: string): string | undefined {
  const [, v6, name] = /^(?:\[([0-9a-f:.]+)\]|([\w.-]+))(?::\d{1,5})?$/i.exec(header) ?? [];
  if (v6 !== undefined) return isIP(v6) === 6 ? new URL(`http://[${v6}]`).hostname.slice(1, -1) : undefined;
  return name?.toLowerCase().replace(/\.$/, '');
}

/** `::ffff:127.0.0.1` is the form of an IPv4 connection to a socket that takes both. */
function plainAddress(address: string): string {
  return address
    .toLowerCase()
    .replace(/^::ffff:(?=\d+\.)/, '')
    .replace(/%.*$/, '');
}
