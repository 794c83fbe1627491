import type { FsOps } from '../../../src/files/fs-ops';
import { fsError } from './fs-doubles';

interface Inode {
  text: string;
  /** The text that surely remains after a power cut; undefined before the first sync. */
  synced: string | undefined;
}

type Names = ReadonlyMap<string, Inode>;

/**
 * A directory on a disk that guarantees no more than POSIX after a power cut. Unsynced content may be missing, cut or
 * present. Unsynced changes of names may have happened in any combination, each one atomically.
 */
export class PowerCutDisk {
  private names: Names = new Map();
  private syncedNames: Names = new Map();
  private pending: ((names: Names) => Names)[] = [];
  private readonly open = new Map<number, Inode | 'directory'>();
  private nextFd = 3;

  static holding(path: string, text: string): PowerCutDisk {
    const disk = new PowerCutDisk();
    disk.names = disk.syncedNames = new Map([[path, { text, synced: text }]]);
    return disk;
  }

  /** Returns all contents that the directory may have after a power cut now. */
  afterPowerCut(): ReadonlyMap<string, string>[] {
    const outcomes: ReadonlyMap<string, string>[] = [];
    for (let mask = 0; mask < 1 << this.pending.length; mask++) {
      const names = this.pending.reduce((left, change, i) => (mask & (1 << i) ? change(left) : left), this.syncedNames);
      for (const share of [0, 0.5, 1]) {
        outcomes.push(new Map([...names].map(([name, inode]) => [name, remainingText(inode, share)])));
      }
    }
    return outcomes;
  }

  readonly fs: FsOps = {
    mkdir: () => undefined,
    assertWritable: () => undefined,
    readdir: () => [...this.names.keys()],
    stat: (path) => ({ isOwnFile: true, sizeBytes: this.inodeAt(path).text.length }),
    readText: (path) => this.inodeAt(path).text,
    openForWriting: (path) => {
      const inode = this.names.get(path) ?? { text: '', synced: undefined };
      inode.text = '';
      if (!this.names.has(path)) this.change((names) => new Map(names).set(path, inode));
      return this.openFd(inode);
    },
    openDirectory: () => this.openFd('directory'),
    write: (fd, bytes, offset) => {
      const inode = this.open.get(fd) as Inode;
      inode.text += Buffer.from(bytes.subarray(offset)).toString('utf8');
      return bytes.length - offset;
    },
    fsync: (fd) => {
      const target = this.open.get(fd)!;
      if (target === 'directory') {
        this.syncedNames = this.names;
        this.pending = [];
      } else target.synced = target.text;
    },
    close: (fd) => void this.open.delete(fd),
    rename: (from, to) => {
      const inode = this.inodeAt(from);
      this.change((names) => new Map([...names].filter(([name]) => name !== from)).set(to, inode));
    },
    link: (from, to) => {
      const inode = this.inodeAt(from);
      this.change((names) => new Map(names).set(to, inode));
    },
    unlink: (path) => {
      this.inodeAt(path);
      this.change((names) => new Map([...names].filter(([name]) => name !== path)));
    },
  };

  private inodeAt(path: string): Inode {
    const inode = this.names.get(path);
    if (!inode) throw fsError('ENOENT');
    return inode;
  }

  private change(change: (names: Names) => Names): void {
    this.names = change(this.names);
    this.pending.push(change);
  }

  private openFd(target: Inode | 'directory'): number {
    this.open.set(this.nextFd, target);
    return this.nextFd++;
  }
}

function remainingText({ text, synced }: Inode, share: number): string {
  return synced === text ? text : text.slice(0, Math.floor(text.length * share));
}
