import xxhash from 'xxhash-wasm';

export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/** Returns the function that makes the fingerprint of a set of pods. */
export async function loadPodFingerprint(): Promise<(pods: readonly PodName[]) => string> {
  const hash64 = await xxhash();
  /**
   * The algorithm of the library podfingerprint, version 1: a 64-bit xxHash of each pod's name, with the hash of its
   * namespace as the seed; these numbers in ascending order, as little-endian bytes, are hashed again.
   */
  return (pods) => {
    const hashes = BigUint64Array.from(pods, ({ namespace, name }) => hash64.h64(name, hash64.h64(namespace))).sort();
    const bytes = new DataView(new ArrayBuffer(8 * hashes.length));
    hashes.forEach((hash, i) => bytes.setBigUint64(8 * i, hash, true));
    return `pfp0v001${hash64.h64Raw(new Uint8Array(bytes.buffer)).toString(16).padStart(16, '0')}`;
  };
}
