import { Duplex } from 'node:stream';

/** Two ends of a connection in memory, for a peer that wants a stream rather than a socket. */
export function duplexPair(): [Duplex, Duplex] {
  const ends: Duplex[] = [];
  const make = (other: number): Duplex =>
    new Duplex({
      read: () => undefined,
      write: (chunk, _encoding, done) => {
        ends[other]!.push(chunk);
        setImmediate(done);
      },
      final: (done) => {
        ends[other]!.push(null);
        done();
      },
    });
  ends.push(make(1), make(0));
  return [ends[0]!, ends[1]!];
}
