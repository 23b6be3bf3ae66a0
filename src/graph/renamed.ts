/** Options of a field that another one has replaced under a consistent name. */
export function renamedTo(name: string): { readonly deprecationReason: string } {
  return { deprecationReason: `Renamed to \`${name}\`.` };
}
