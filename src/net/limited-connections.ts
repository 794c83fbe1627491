import type { Socket } from 'node:net';

/** A limited set of connections: one too many closes the oldest. */
export class LimitedConnections {
  private readonly sockets = new Set<Socket>();

  constructor(private readonly most: number) {}

  get size(): number {
    return this.sockets.size;
  }

  add(socket: Socket): void {
    if (this.sockets.size >= this.most) {
      const [oldest] = this.sockets;
      this.sockets.delete(oldest!);
      oldest!.destroy();
    }
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
  }

  /** Removes the connections from the set without closing them. */
  release(): readonly Socket[] {
    const all = [...this.sockets].filter(({ destroyed }) => !destroyed);
    this.sockets.clear();
    return all;
  }

  close(): void {
    for (const socket of this.release()) socket.destroy();
  }
}
