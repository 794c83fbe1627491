/** A TCP address. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** `host:port`, with an IPv6 address in brackets. */
export function formatHostPort({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** True for an address that only this host reaches. */
export function isLoopback({ host }: HostPort): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
