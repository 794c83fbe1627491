import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';

/** Paths of PEM files. */
export interface TlsPaths {
  readonly certificate: string;
  readonly key: string;
  /** Clients with a certificate of this authority are known. */
  readonly clientCa?: string;
}

/**
 * The certificate of a server, from files that are read again when they have other content. The content is compared,
 * since a mounted Secret changes by a link to another folder.
 */
export class TlsFiles {
  private timer: NodeJS.Timeout | undefined;
  /** The content at the last look, or the reason why there was none. */
  private seen = '';

  /** @param lookMs time between two looks at the files */
  constructor(
    private readonly tls: TlsPaths,
    private readonly log: { readonly warn: (fields: object, message: string) => void },
    private readonly lookMs = 5_000,
  ) {}

  /** Throws Error with a sentence for the operator. */
  read(): SecureContextOptions & { readonly requestCert: boolean; readonly rejectUnauthorized: false } {
    const { certificate, key, clientCa } = this.tls;
    const context = this.readAll();
    this.seen = describe(context);
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
    const look = (): void => {
      const before = this.seen;
      try {
        const now = describe(this.readAll());
        if (now === before) return;
        this.seen = now;
        take(this.read());
      } catch (error) {
        const because = (error as Error).message;
        if (this.seen === before) this.seen = because; // no file was read
        if (this.seen !== before) this.log.warn({ because }, 'new TLS files can’t be used; the old ones stay in force');
      }
    };
    this.timer = setInterval(look, this.lookMs).unref();
  }

  close(): void {
    clearInterval(this.timer);
  }

  private readAll(): TlsContent {
    const { certificate, key, clientCa } = this.tls;
    return {
      cert: readPem(certificate),
      key: readPem(key),
      ...(clientCa !== undefined && { ca: readPem(clientCa) }),
    };
  }
}

interface TlsContent {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
}

function describe({ cert, key, ca }: TlsContent): string {
  return createHash('sha256')
    .update(JSON.stringify([cert, key, ca].map((pem) => pem?.toString('base64'))))
    .digest('base64');
}

function readPem(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new Error(`${path} can't be read: ${(cause as Error).message}`, { cause });
  }
}
