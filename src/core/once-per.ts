/**
 * Remembers the result of a function for each object, as long as the object lives. Only for objects that never change.
 */
export function oncePer<K extends object, V>(make: (from: K) => V): (from: K) => V {
  const made = new WeakMap<K, { readonly value: V }>();
  return (from) => {
    let found = made.get(from);
    if (found === undefined) made.set(from, (found = { value: make(from) }));
    return found.value;
  };
}
