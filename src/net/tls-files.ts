import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';

/** Paths of PEM files. */
export interface TlsPaths {
  readonly certificate: string;
  readonly key: string;
  /** Clients with a certificate of this authority are known. */
  readonly clientCa?: string;
}

/** Mounted Secrets change by a link to another folder, which only looking at the file shows. */
const LOOK_MS = 5_000;

/** The certificate of a server, from files that are read again when they change. */
export class TlsFiles {
  private paths: readonly string[] = [];

  constructor(
    private readonly tls: TlsPaths,
    private readonly log: { readonly warn: (fields: object, message: string) => void },
  ) {}

  /** Throws Error with a sentence for the operator. */
  read(): SecureContextOptions & { readonly requestCert: boolean; readonly rejectUnauthorized: false } {
    const { certificate, key, clientCa } = this.tls;
    const context = {
      cert: readPem(certificate),
      key: readPem(key),
      ...(clientCa !== undefined && { ca: readPem(clientCa) }),
    };
    try {
      createSecureContext(context);
    } catch (cause) {
      const because = (cause as Error).message;
      throw new Error(`${certificate} and ${key} are no certificate and its key: ${because}`, { cause });
    }
    // The routes ask for the certificate: a probe has none.
    return { ...context, requestCert: clientCa !== undefined, rejectUnauthorized: false };
  }

  /** Passes on the files' new content. Content that can't be used is logged, and the old stays. */
  follow(take: (context: SecureContextOptions) => void): void {
    const { certificate, key, clientCa } = this.tls;
    this.paths = [certificate, key, ...(clientCa === undefined ? [] : [clientCa])];
    const look = (): void => {
      try {
        take(this.read());
      } catch (error) {
        this.log.warn({ because: (error as Error).message }, 'new TLS files can’t be used; the old ones stay in force');
      }
    };
    for (const path of this.paths) watchFile(path, { interval: LOOK_MS, persistent: false }, look);
  }

  close(): void {
    for (const path of this.paths) unwatchFile(path);
    this.paths = [];
  }
}

function readPem(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new Error(`${path} can't be read: ${(cause as Error).message}`, { cause });
  }
}
