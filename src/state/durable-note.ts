import { dirname } from 'node:path';
import { CpusetdError } from '../core/errors';
import { readBounded } from '../files/read-bounded';
import { replaceDurably, syncDirectory } from './durable-write';
import { Fields, ShapeError } from './fields';
import { nodeFsOps, type FsOps } from './fs-ops';

export type Decoded<T> =
  | { readonly ok: true; readonly value: T }
  /** `because` follows the path in a sentence. */
  | { readonly ok: false; readonly because: string };

/** A document of one kind, as text and back. */
export interface NoteFormat<T> {
  readonly encode: (value: T) => string;
  /** Never throws, whatever the text. */
  readonly decode: (text: string) => Decoded<T>;
  readonly maxBytes: number;
}

export type NoteRead<T> =
  | { readonly kind: 'missing' }
  | { readonly kind: 'read'; readonly value: T }
  | { readonly kind: 'broken'; readonly because: string };

/** A small file of ours that tells the next process what this one has to undo. */
export class DurableNote<T> {
  /** What is on disk, as far as known. */
  private text: string | undefined;

  constructor(
    readonly path: string,
    private readonly format: NoteFormat<T>,
    private readonly fs: FsOps = nodeFsOps,
  ) {}

  /** What an earlier process left. Throws FAILED_PRECONDITION when there is a file that can't be read: it may be of use later. */
  read(): NoteRead<T> {
    const read = readBounded(this.path, this.format.maxBytes, { own: true });
    if (!read.ok) {
      if (read.kind === 'missing') return { kind: 'missing' };
      throw new CpusetdError('FAILED_PRECONDITION', `${this.path} ${read.because}`);
    }
    const decoded = this.format.decode(read.text);
    return decoded.ok ? { kind: 'read', value: decoded.value } : { kind: 'broken', because: decoded.because };
  }

  /** Returns when the value is durable; does nothing when it is. Throws the system's error. */
  save(value: T): void {
    const text = this.format.encode(value);
    if (text === this.text) return;
    this.text = undefined;
    replaceDurably(this.fs, this.path, Buffer.from(text, 'utf8'));
    this.text = text;
  }

  /** Removes the file durably; it may be missing. Throws the system's error. */
  forget(): void {
    this.text = undefined;
    try {
      this.fs.unlink(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    syncDirectory(this.fs, dirname(this.path));
  }
}

/** Decodes a JSON object that names its version. A document with one wrong field (ShapeError) is none of ours. */
export function decodeVersioned<T>(text: string, version: number, read: (document: Fields) => T): Decoded<T> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { ok: false, because: 'is not JSON, cut off or overwritten' };
  }
  try {
    const document = new Fields(parsed, 'the document');
    const found = document.count('version');
    if (found !== version) return { ok: false, because: `has version ${found}, and ${version} is read` };
    return { ok: true, value: read(document) };
  } catch (error) {
    if (error instanceof ShapeError) return { ok: false, because: `is not of ours: ${error.message}` };
    throw error;
  }
}
