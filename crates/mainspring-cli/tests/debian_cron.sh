# debian_cron.sh FOLDER PAM PROGRAM..: a machine with files of cron in namespaces of its own, where PROGRAM runs at 06:24:52.
#
# /run/show NAME writes what a command has around it to FOLDER/out/NAME, and a mailer what it gets to FOLDER/out/mail.*.
set -eu
folder=$1 pam=$2
shift 2
umask 022

mkdir -p "$folder/out" "$folder/etc"
chmod 777 "$folder/out"
cp -a /etc/. "$folder/etc"
cp "$pam" "$folder/pam"
mount --bind "$folder/etc" /etc
# In /dev/shm libfaketime has files with numbers of processes, which are the same in each namespace.
for place in /run /usr/sbin /var/spool /dev/shm; do mount -t tmpfs none "$place"; done
mkdir -p /run/out /var/spool/cron/crontabs /etc/cron.d /etc/pam.d
mount --bind "$folder/out" /run/out
chown 0:64011 /var/spool/cron/crontabs
chmod 1730 /var/spool/cron/crontabs
hostname box.example.com
cp "$folder/pam" /etc/pam.d/cron
rm -f /etc/cron.d/* /etc/crontab /etc/localtime /etc/timezone
ln -s /usr/share/zoneinfo/Etc/UTC /etc/localtime
for user in 'mara:x:5001:5001::/run/mara:/bin/bash' 'homeless:x:5002:5001::/no/such/home:/bin/sh' \
    'open:x:5003:5001::/:/bin/sh' 'foreign:x:5004:5001::/:/bin/sh' 'linked:x:5005:5001::/:/bin/sh' 'named:x:5006:5001::/:/bin/sh'; do
    echo "$user" >>/etc/passwd
    echo "${user%%:*}:*:19000:0:99999:7:::" >>/etc/shadow
done
echo 'mara:x:5001:' >>/etc/group
echo 'team:x:5009:mara' >>/etc/group
install -d -o 5001 -g 5001 /run/mara

cat >/run/show <<'SHOW'
#!/bin/sh
{
    env -0 | sort -z
    printf 'in: %s\0as: %s\0mask: %s\0limit: %s\0read: ' "$(pwd)" "$(id)" "$(umask)" "$(ulimit -c)"
    cat
} >"/run/out/.$1"
mv "/run/out/.$1" "/run/out/$1"
SHOW
cat >/usr/sbin/sendmail <<'MAIL'
#!/bin/sh
file=$(mktemp /run/out/.mail.XXXXXX)
{
    echo "as: $(id -u)"
    for word; do case $word in -*) ;; *) echo "to: $word" ;; esac; done
    echo
    cat
} >"$file"
mv "$file" "/run/out/${file#/run/out/.}"
MAIL
chmod 755 /run/show /usr/sbin/sendmail

cat >/etc/environment <<'FILE'
# of the system
http_proxy="http://proxy.example.com:3128"
export NO_PROXY='localhost,127.0.0.1'
LANG=of_environment
HASH=a # b
EMPTY=
PATH=/of/environment
SHELL=/of/environment
HOME=/of/environment
SPACED = no
LONG=one\
two
FILE
printf 'LANG="de_DE.UTF-8"\nLC_TIME=C\n' >/etc/default/locale

cat >/etc/crontab <<'FILE'
SHELL=/bin/sh
PATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin
25 6	* * *	root	/run/show table
26 6	* * *	root	/run/show too-early
25 6	* * 2	root	/run/show other-day
25 6	2 * 2	root	/run/show either-day
*/5 6	* * *	root	/run/show step
@daily	root	/run/show midnight
@reboot	root	/run/show boot
25 6	* * *	root	sleep 2; touch /run/out/end
FILE
cat >/etc/cron.d/settings <<'FILE'
# what holds for the entries below
 A = 1
"B B"=two
C=' kept'
D = a # b
LANG=of_crontab
25 6 * * * nobody /run/show nobody%one%two \% three
25 6 * * * mara /run/show mara; id -un; printf '\%s\n' "$A"
HOME=/tmp
SHELL=/bin/bash
USER=somebody
25 6 * * * mara [[ -n $BASH ]] && /run/show bash
HOME=/no/such/place
25 6 * * * mara /run/show nowhere
25 6 * * * homeless /run/show homeless%
FILE
cat >/etc/cron.d/mails <<'FILE'
MAILTO=ops@example.com,dev@example.com
MAILFROM=cron@example.com
CONTENT_TYPE="text/html; charset=latin1"
CONTENT_TRANSFER_ENCODING=7bit
25 6 * * * mara echo out; echo err >&2%not in the subject
MAILTO=""
25 6 * * * mara echo nowhere
MAILTO=root
25 6 * * * mara true
25 6 * * * mara echo oops; exit 3
25 6 * * * mara echo oops; kill $$
FILE
file() { # NAME MODE: an entry of root's in /etc/cron.d
    echo "25 6 * * * root /run/show cron.d-$1" >"/etc/cron.d/$1"
    chmod "$2" "/etc/cron.d/$1"
}
file plain 644
file left.dpkg-old 644
file left~ 644
file executable 755
file writable 664
file foreign 644 && chown 5001 /etc/cron.d/foreign
file named 644 && ln /etc/cron.d/named /etc/other-name
file linked 644 && mv /etc/cron.d/linked /etc/linked && ln -s /etc/linked /etc/cron.d/linked
echo '25 6 * * * no-such-user true' >/etc/cron.d/unknown
echo '25 6 * * * root /run/show cron.d-unknown' >>/etc/cron.d/unknown
echo '61 6 * * * root true' >/etc/cron.d/faulty
echo '25 6 * * * root /run/show cron.d-faulty' >>/etc/cron.d/faulty
cat >/etc/cron.d/odd <<'FILE'
0 22-6 * * * root /run/show never
25 6 * * 7-1 root /run/show never
@reboot root 
25.5 6-6-7 * jan-decö *-5 root /run/show cut
CRON_TZ=Asia/Tokyo
25 6 * * * root /run/show beside-odd
CRON_TZ=Nowhere/Bad
25 6 * * * root /run/show no-zone
FILE

cd /var/spool/cron/crontabs
spool() { # NAME OWNER MODE: a user's crontab
    echo "25 6 * * * /run/show spool-$1" >"$1"
    chown "$2:64011" "$1"
    chmod "$3" "$1"
}
spool mara 5001 600
echo '25 6 * * * echo to mara' >>mara
spool root 0 600
spool homeless 0 600
spool open 5003 640
spool foreign 5001 600
spool named 5006 600 && ln named /var/spool/named
spool linked 5005 600 && mv linked /var/spool/linked && ln -s /var/spool/linked linked
spool no-such-user 0 600
spool tmp.x 0 600

cd /
# The set of characters of mails is that of the locale, which systemd gives.
exec env -i PATH=/usr/bin:/bin LANG=C.UTF-8 LD_PRELOAD="$FAKETIME_LIBRARY" FAKETIME='@2026-03-02 06:24:52' FAKETIME_DONT_FAKE_MONOTONIC=1 "$@"
