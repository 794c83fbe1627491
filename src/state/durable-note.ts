import { dirname } from 'node:path';
import { replaceDurably, syncDirectory } from '../files/durable-write';
import { openEnvelope, seal, WRONG_SEAL } from './envelope';
import { Fields, ShapeError } from './fields';
import { nodeFsOps, type FsOps } from '../files/fs-ops';
import { listSetAside, quarantine, type SetAside } from './quarantine';
import { readOwnFile } from './read-own-file';

export type Decoded<T> =
  | { readonly ok: true; readonly value: T }
  /** `because` follows the path in a sentence. */
  | { readonly ok: false; readonly because: string };

export type DecodedNote<T> =
  /** `isSealed`: a checksum has shown that the text is as it was written; notes of earlier versions have none. */
  | { readonly ok: true; readonly value: T; readonly isSealed: boolean }
  /** `isOfLost`: the document says that a note was lost, and nothing else. `because` follows the path in a sentence. */
  | { readonly ok: false; readonly because: string; readonly isOfLost?: true };

/** A document of one kind, as text and back. */
export interface NoteFormat<T> {
  readonly encode: (value: T) => string;
  /**
   * The document in place of a note that was lost. Earlier versions of cpusetd can't use it either: a note is lost for
   * them too.
   */
  readonly encodeLost: () => string;
  /** Never throws, whatever the text. */
  readonly decode: (text: string) => DecodedNote<T>;
  readonly maxBytes: number;
}

/** The field of a document that stands for a note that was lost. */
const LOST = 'lost';

/**
 * The format of a note. `encode` gives a JSON object with its `version`, to which the checksum is added; `read` throws
 * ShapeError for a wrong field, and the whole note is none of ours then. A checksum is no new version: older versions
 * of cpusetd read past it, and write none.
 */
export function noteFormat<T>(parts: {
  readonly version: number;
  readonly maxBytes: number;
  readonly encode: (value: T) => string;
  readonly read: (document: Fields) => T;
}): NoteFormat<T> {
  const { version, maxBytes, encode, read } = parts;
  return {
    encode: (value) => seal(encode(value)),
    encodeLost: () => seal(JSON.stringify({ version, [LOST]: true })),
    decode: (text) => decodeNote(text, version, read),
    maxBytes,
  };
}

export type NoteRead<T> =
  | { readonly kind: 'missing' }
  | { readonly kind: 'read'; readonly value: T; readonly isSealed: boolean }
  /** It says that an earlier one was lost. */
  | { readonly kind: 'of-lost' }
  /** It could not be used, and has another name now. `because` is a sentence for the operator. */
  | { readonly kind: 'lost'; readonly because: string; readonly movedTo: string }
  /** It can't be read now, or not be set aside: it is still there. */
  | { readonly kind: 'failed'; readonly because: string };

/** A small file of ours with what the next process has to undo for this one. */
export class DurableNote<T> {
  /** The content on disk, as far as known. */
  private text: string | undefined;

  constructor(
    readonly path: string,
    private readonly format: NoteFormat<T>,
    private readonly fs: FsOps = nodeFsOps,
  ) {}

  /**
   * Reads the record of an earlier process. One that can't be used, be it unreadable or not understood, is set aside as
   * `<path>.bad-<n>`. Never throws.
   */
  read(): NoteRead<T> {
    const { fs, path, format } = this;
    const read = readOwnFile(fs, path, format.maxBytes);
    if (read.kind === 'none') return { kind: 'missing' };
    if (read.kind === 'failed') return read;
    if (read.kind === 'unreadable') return this.giveUp(read.because);
    const decoded = format.decode(read.text);
    if (!decoded.ok) return decoded.isOfLost ? { kind: 'of-lost' } : this.giveUp(`${path} ${decoded.because}`);
    return { kind: 'read', value: decoded.value, isSealed: decoded.isSealed };
  }

  /** Files that were set aside, by this process or an earlier one, and that nobody has removed. */
  get setAside(): SetAside {
    return listSetAside(this.fs, this.path);
  }

  /** Returns when the value is durable; does nothing when it is. Throws the system's error. */
  save(value: T): void {
    this.replace(this.format.encode(value));
  }

  /** Returns when it is durable that a note was lost. Throws the system's error. */
  saveLost(): void {
    this.replace(this.format.encodeLost());
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

  private replace(text: string): void {
    if (text === this.text) return;
    this.text = undefined;
    replaceDurably(this.fs, this.path, Buffer.from(text, 'utf8'));
    this.text = text;
  }

  private giveUp(because: string): NoteRead<T> {
    const moved = quarantine(this.fs, this.path);
    if ('path' in moved) return { kind: 'lost', because, movedTo: moved.path };
    return { kind: 'failed', because: `${because}; ${moved.because}` };
  }
}

/**
 * Decodes a JSON object that names its version. A document with one wrong field (ShapeError), or a wrong checksum, is
 * none of ours.
 */
export function decodeVersioned<T>(text: string, version: number, read: (document: Fields) => T): Decoded<T> {
  const opened = openVersioned(text, version, read);
  return opened.ok ? { ok: true, value: opened.value } : opened;
}

const SHAPES = { empty: 'is not JSON', torn: 'is not JSON', foreign: 'is not of ours' } as const;

function decodeNote<T>(text: string, version: number, read: (document: Fields) => T): DecodedNote<T> {
  const opened = openVersioned(text, version, (document) =>
    document.has(LOST) && document.flag(LOST) ? undefined : { value: read(document) },
  );
  if (!opened.ok) return opened;
  const { value: content, isSealed } = opened;
  if (!content) return { ok: false, because: 'says that an earlier note was lost', isOfLost: true };
  return { ok: true, value: content.value, isSealed };
}

function openVersioned<T>(
  text: string,
  version: number,
  read: (document: Fields) => T,
):
  | { readonly ok: true; readonly value: T; readonly isSealed: boolean }
  | { readonly ok: false; readonly because: string } {
  const refused = (because: string) => ({ ok: false, because }) as const;
  const opened = openEnvelope(text);
  if (!opened.ok) return refused(`${SHAPES[opened.kind]}: ${opened.because}`);
  if (opened.seal === 'wrong') return refused(`was changed: ${WRONG_SEAL}`);
  try {
    const document = new Fields(opened.content, 'the document');
    const found = document.count('version');
    if (found !== version) return refused(`has version ${found}, and ${version} is read`);
    return { ok: true, value: read(document), isSealed: opened.seal === 'good' };
  } catch (error) {
    if (error instanceof ShapeError) return refused(`is not of ours: ${error.message}`);
    throw error;
  }
}
