/** How a user of a sandbox is written: `name`, `uid`, `name:group` or `uid:gid`. */
const NAME = String.raw`[a-z_][a-z0-9_.-]{0,31}\$?`;
const ID = String.raw`\d{1,10}`;
const USER = new RegExp(`^(${NAME}|${ID})(:(${NAME}|${ID}))?$`, "i");
/** The last id is the kernel's word for "no such". */
const MAX_ID = 4_294_967_294;

export function isValidUser(text: string): boolean {
  return USER.test(text) && text.split(":").every((part) => !/^\d+$/.test(part) || Number(part) <= MAX_ID);
}

export function isRootUser(text: string): boolean {
  const [user = ""] = text.split(":");
  return user === "root" || (/^\d+$/.test(user) && Number(user) === 0);
}
