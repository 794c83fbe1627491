import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { DecisiveAnnotations } from '../core/annotations/decisive';

/**
 * A protobuf reader for the hot path: skipping makes no slice of what it skips, and text is decoded in place.
 *
 * Measured on a recorded 4 kB CreateContainer request, Node 20: all fields 22 µs at p50 and 100 µs at p99, the view 11
 * and 42, the view with this reader 7 and 9. Only for messages generated without unknown fields: `skip` returns nothing
 * that could be kept.
 */
export class SkippingReader extends BinaryReader {
  private readonly source: Buffer;

  constructor(payload: Uint8Array) {
    super(payload);
    this.source = Buffer.isBuffer(payload)
      ? payload
      : Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  }

  override string(): string {
    const start = this.skipDelimited();
    return this.source.toString('utf8', start, this.pos);
  }

  /**
   * An entry of a map. One that is too short for any wanted entry (`DecisiveAnnotations`) is skipped without a slice.
   */
  override bytes(): Uint8Array {
    const start = this.skipDelimited();
    return this.pos - start < DecisiveAnnotations.shortestName ? NOTHING : this.source.subarray(start, this.pos);
  }

  override skip(wireType: WireType, fieldNo?: number): Uint8Array {
    if (wireType !== WireType.LengthDelimited) return super.skip(wireType, fieldNo);
    this.skipDelimited();
    return NOTHING;
  }

  /** Moves behind a length-delimited field and returns where its content starts. */
  private skipDelimited(): number {
    const length = this.uint32();
    const start = this.pos;
    this.pos = start + length;
    if (this.pos > this.len) throw new RangeError('a field is longer than the message');
    return start;
  }
}

const NOTHING = new Uint8Array(0);
