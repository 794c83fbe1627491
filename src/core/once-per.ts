/**
 * Remembers the result of a function for each object, as long as the object lives; the last object lives on. Only for
 * objects that never change.
 */
export function oncePer<K extends object, V>(make: (from: K) => V): (from: K) => V {
  const made = new WeakMap<K, { readonly value: V }>();
  // A loop over thousands of nodes asks about one object again and again. A look into the map costs much more than a
  // comparison.
  let last: K | undefined;
  let found: { readonly value: V } | undefined;
  return (from) => {
    if (found !== undefined && from === last) return found.value;
    let known = made.get(from);
    if (known === undefined) made.set(from, (known = { value: make(from) }));
    last = from;
    found = known;
    return known.value;
  };
}

/** The same for texts: at most `most` results are remembered, then all are forgotten. */
export function oncePerText<V>(make: (text: string) => V, most: number): (text: string) => V {
  const made = new Map<string, V>();
  return (text) => {
    if (made.has(text)) return made.get(text)!;
    if (made.size >= most) made.clear();
    const value = make(text);
    made.set(text, value);
    return value;
  };
}
