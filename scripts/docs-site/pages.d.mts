export interface SidebarGroup {
  readonly text: string;
  readonly collapsed: boolean;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}
export function sitePages(root: string): string[];
export function siteName(page: string): string;
export function sitePage(page: string, text: string, pages: readonly string[]): string;
export function sidebar(overview: string): SidebarGroup[];
export function writeSite(root: string, to: string): string[];
